package cli

import (
	"time"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/spf13/cobra"
)

// Tree is every command of muster, for who writes its manual. None is to be run.
func Tree() *cobra.Command {
	nothing := func(string) string { return "" }
	root := newRoot(&session.Session{Env: nothing, Environ: func() []string { return nil }, Now: time.Now}, Hooks{}, nil)
	root.InitDefaultCompletionCmd()
	return root
}
