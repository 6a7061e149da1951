package session

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/musterhq/muster/internal/core/nearest"
)

// Settings are what the configuration file may hold, with the variables that
// say the same and win.
var Settings = map[string]string{
	"server": "MUSTER_SERVER", "dataDir": "MUSTER_DATA_DIR", "project": "MUSTER_PROJECT", "dialect": "MUSTER_DIALECT", "noAutostart": "MUSTER_NO_AUTOSTART",
}

// Setting is a variable of the environment, or what the configuration file
// says in its place.
func (s *Session) Setting(variable string) string {
	if v := s.Env(variable); v != "" {
		return v
	}
	s.configure()
	for name, v := range Settings {
		if v == variable {
			return s.Config[name]
		}
	}
	return ""
}

// ConfigPath is where the configuration file is, were there one; "" where
// nobody can tell.
func (s *Session) ConfigPath() string {
	switch {
	case s.Env("MUSTER_CONFIG") != "":
		return s.Env("MUSTER_CONFIG")
	case s.Env("XDG_CONFIG_HOME") != "":
		return filepath.Join(s.Env("XDG_CONFIG_HOME"), "muster", "config.yaml")
	case s.Env("HOME") != "":
		return filepath.Join(s.Env("HOME"), ".config", "muster", "config.yaml")
	default:
		return ""
	}
}

// configure reads the configuration file, once. What is wrong with it is told
// by begin.
func (s *Session) configure() {
	if s.Config != nil {
		return
	}
	s.Config = map[string]string{}
	path := s.ConfigPath()
	if path == "" {
		return
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && s.Env("MUSTER_CONFIG") == "" {
		return
	}
	if err != nil {
		s.badConfig = UsageError(err.Error(), "MUSTER_CONFIG names the configuration file")
		return
	}
	read := map[string]any{}
	if err := yaml.Unmarshal(data, &read); err != nil {
		s.badConfig = UsageError(fmt.Sprintf("%s is not YAML: %s", path, firstLine(yaml.FormatError(err, false, false))), "write lines like dialect: mcli")
		return
	}
	names := slices.Sorted(maps.Keys(Settings))
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if _, known := Settings[name]; !known {
			e := UsageError(fmt.Sprintf("%s: there is no setting %q", path, name), "there are "+strings.Join(names, ", "))
			if near := nearest.Words(name, names); len(near) > 0 {
				e.Problem.Hint = "did you mean " + near[0] + "?"
			}
			s.badConfig = e
			return
		}
		switch v := read[name].(type) {
		case string, bool, int, uint64, int64, float64:
			s.Config[name] = fmt.Sprint(v)
		default:
			s.badConfig = UsageError(fmt.Sprintf("%s: %s is not a text", path, name), "write "+name+": value")
			return
		}
	}
}
