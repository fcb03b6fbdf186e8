package steps

// PlannedValues are the variables of one script that running a cell would execute.
type PlannedValues struct {
	Role   string // empty where the cell has one
	Rail   int    // from 1; 0 where the script is not per rail
	Values map[string]string
}
