package admin

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core"
)

// settingView is a setting as it is in force, and who says so.
type settingView struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Origin   string `json:"origin"` // flag, environment, file, default
	From     string `json:"from,omitempty"`
	Variable string `json:"variable"`
}

// NewConfig makes the command config.
func NewConfig(s *session.Session) *cobra.Command {
	cmd := session.Group("config", "The configuration of this command line: view")
	var t session.TableFlags
	view := &cobra.Command{
		Use: "view", Aliases: []string{"list", "ls", "show"}, Short: "Show each setting that is in force, and where it comes from",
		Long: `Shows each setting that is in force, and where it comes from: a flag, a variable
of the environment, the configuration file, or nobody. The file is
$XDG_CONFIG_HOME/muster/config.yaml, or what MUSTER_CONFIG names, and has lines
such as "project: vision".`,
		Example: "  muster config view\n  MUSTER_PROJECT=vision muster config view -o json",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := settingsView(s, cmd)
			if err != nil {
				return err
			}
			if s.Machine() {
				return s.Document(map[string]any{"file": s.ConfigPath(), "items": all})
			}
			return session.Print(s, t, session.Table[settingView]{Items: all, Name: func(v settingView) string { return v.Name }, Columns: []session.Column[settingView]{
				{Title: "SETTING", Cell: func(v settingView) string { return v.Name }},
				{Title: "VALUE", Cell: func(v settingView) string { return printers.OrDash(v.Value) }},
				{Title: "ORIGIN", Cell: func(v settingView) string {
					if v.From != "" {
						return v.Origin + " " + v.From
					}
					return v.Origin
				}},
				{Title: "VARIABLE", Wide: true, Cell: func(v settingView) string { return v.Variable }},
			}})
		},
	}
	t.Register(view)
	cmd.AddCommand(view)
	return cmd
}

// settingsView are all settings. The token's value is never shown.
func settingsView(s *session.Session, cmd *cobra.Command) ([]settingView, error) {
	dir, err := s.Dir()
	if err != nil {
		return nil, err
	}
	defaults := []settingView{
		{Name: "server", Value: session.Address(dir)}, {Name: "dataDir", Value: dir}, {Name: "project", Value: string(core.DefaultProject)},
		{Name: "dialect", Value: "native"}, {Name: "noAutostart", Value: "false"},
	}
	flags := map[string]string{"server": "server", "dataDir": "data-dir", "noAutostart": "no-autostart"}
	var out []settingView
	for _, v := range defaults {
		v.Variable, v.Origin = session.Settings[v.Name], "default"
		f := cmd.Flags().Lookup(flags[v.Name])
		switch {
		case f != nil && f.Changed:
			v.Value, v.Origin, v.From = f.Value.String(), "flag", "--"+f.Name
		case s.Env(v.Variable) != "":
			v.Value, v.Origin, v.From = s.Env(v.Variable), "environment", v.Variable
		case v.Name == "server" && (s.DataDir != "" || s.Env("MUSTER_DATA_DIR") != ""): // means a local one, whatever the file says
		case s.Config[v.Name] != "":
			v.Value, v.Origin, v.From = s.Config[v.Name], "file", s.ConfigPath()
		}
		out = append(out, v)
	}
	token := settingView{Name: "token", Variable: "MUSTER_TOKEN", Origin: "default"}
	if s.Env(token.Variable) != "" {
		token.Value, token.Origin, token.From = "set", "environment", token.Variable
	}
	return append(out, token), nil
}
