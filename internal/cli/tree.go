package cli

import (
	"time"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/spf13/cobra"
)

// Tree returns every command of muster for generating its manual. Do not run them.
func Tree() *cobra.Command {
	nothing := func(string) string { return "" }
	root := newRoot(&session.Session{Env: nothing, Environ: func() []string { return nil }, Now: time.Now}, Hooks{}, nil)
	root.InitDefaultCompletionCmd()
	return root
}
