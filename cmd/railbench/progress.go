package main

import (
	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps/progress"
	"github.com/railbench/railbench/tui/screen"
)

func progressCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "progress",
		Short: "Show which parts you have read, what you have run and which exercises you have solved",
		Long: `Shows, part by part, what you have read and run in the workbench, and whether you have
solved the exercise: a fault of the simulated rig that "railbench drill PART" hides. It is
solved if you have points left.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := progressText()
			if err != nil {
				return usage(err)
			}
			return readPage(cmd, text)
		},
	}
}

// keeper keeps the user's progress.
func keeper() (*progress.Keeper, error) {
	path, err := stateDir("progress.json")
	return &progress.Keeper{Path: path}, err
}

// progressText is the progress as a page.
func progressText() (string, error) {
	t, _, err := tutorial()
	if err != nil {
		return "", err
	}
	k, err := keeper()
	if err != nil {
		return "", err
	}
	r, err := k.Load()
	if err != nil {
		return "", err
	}
	path, err := stateDir("drills.json")
	if err != nil {
		return "", err
	}
	drills, err := progress.ReadDrills(path)
	if err != nil {
		return "", err
	}
	solved := map[string]bool{}
	for _, d := range drills {
		solved[d.Part] = solved[d.Part] || d.Points > 0 // every check at once leaves none
	}
	return progress.Page(t, r, solved), nil
}

// progressPage is the progress among the pages of the workbench.
func progressPage() screen.Doc {
	return screen.Doc{Name: "progress", About: "what you have read, run and solved", Now: func() string {
		text, err := progressText()
		if err != nil {
			return "# Progress\n\n" + err.Error() + "\n"
		}
		return text
	}}
}
