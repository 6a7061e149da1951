package cli

import (
	"github.com/spf13/cobra"

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

func newConfig(s *session) *cobra.Command {
	cmd := noun("config", "The configuration of this command line: view")
	var t tableFlags
	view := &cobra.Command{
		Use: "view", Aliases: []string{"list", "ls", "show"}, Short: "Show each setting that is in force, and where it comes from",
		Long: `Shows each setting that is in force, and where it comes from: a flag, a variable
of the environment, the configuration file, or nobody. The file is
$XDG_CONFIG_HOME/muster/config.yaml, or what MUSTER_CONFIG names, and has lines
such as "project: vision".`,
		Example: "  muster config view\n  MUSTER_PROJECT=vision muster config view -o json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.settingsView(cmd)
			if err != nil {
				return err
			}
			if s.machine() {
				return s.document(map[string]any{"file": s.configPath(), "items": all})
			}
			return print(s, t, table[settingView]{items: all, name: func(v settingView) string { return v.Name }, columns: []column[settingView]{
				{title: "SETTING", cell: func(v settingView) string { return v.Name }},
				{title: "VALUE", cell: func(v settingView) string { return orDash(v.Value) }},
				{title: "ORIGIN", cell: func(v settingView) string {
					if v.From != "" {
						return v.Origin + " " + v.From
					}
					return v.Origin
				}},
				{title: "VARIABLE", wide: true, cell: func(v settingView) string { return v.Variable }},
			}})
		},
	}
	t.register(view)
	cmd.AddCommand(view)
	return cmd
}

// settingsView are all settings. The token's value is never shown.
func (s *session) settingsView(cmd *cobra.Command) ([]settingView, error) {
	dir, err := s.dir()
	if err != nil {
		return nil, err
	}
	defaults := []settingView{
		{Name: "server", Value: address(dir)}, {Name: "dataDir", Value: dir}, {Name: "project", Value: string(core.DefaultProject)},
		{Name: "dialect", Value: "native"}, {Name: "noAutostart", Value: "false"},
	}
	flags := map[string]string{"server": "server", "dataDir": "data-dir", "noAutostart": "no-autostart"}
	var out []settingView
	for _, v := range defaults {
		v.Variable, v.Origin = settings[v.Name], "default"
		f := cmd.Flags().Lookup(flags[v.Name])
		switch {
		case f != nil && f.Changed:
			v.Value, v.Origin, v.From = f.Value.String(), "flag", "--"+f.Name
		case s.env(v.Variable) != "":
			v.Value, v.Origin, v.From = s.env(v.Variable), "environment", v.Variable
		case v.Name == "server" && (s.dataDir != "" || s.env("MUSTER_DATA_DIR") != ""): // means a local one, whatever the file says
		case s.config[v.Name] != "":
			v.Value, v.Origin, v.From = s.config[v.Name], "file", s.configPath()
		}
		out = append(out, v)
	}
	token := settingView{Name: "token", Variable: "MUSTER_TOKEN", Origin: "default"}
	if s.env(token.Variable) != "" {
		token.Value, token.Origin, token.From = "set", "environment", token.Variable
	}
	return append(out, token), nil
}
