package health

import "strconv"

// Every is how often scripts.Health looks, in seconds: heat takes longer to come.
const Every = 5

// End is the line that ends a round of it.
const End = "#end"

// Vars are what it reads. seconds is the pause between two rounds, by the node's clock; 0 has it look once.
func Vars(seconds float64) map[string]string {
	return map[string]string{"EVERY": strconv.FormatFloat(seconds, 'g', -1, 64)}
}
