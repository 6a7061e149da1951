package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// settings are what the configuration file may hold, with the variables that
// say the same and win.
var settings = map[string]string{
	"server": "MUSTER_SERVER", "dataDir": "MUSTER_DATA_DIR", "project": "MUSTER_PROJECT", "dialect": "MUSTER_DIALECT", "noAutostart": "MUSTER_NO_AUTOSTART",
}

// setting is a variable of the environment, or what the configuration file
// says in its place.
func (s *session) setting(variable string) string {
	if v := s.env(variable); v != "" {
		return v
	}
	s.configure()
	for name, v := range settings {
		if v == variable {
			return s.config[name]
		}
	}
	return ""
}

// configPath is where the configuration file is, were there one; "" where
// nobody can tell.
func (s *session) configPath() string {
	switch {
	case s.env("MUSTER_CONFIG") != "":
		return s.env("MUSTER_CONFIG")
	case s.env("XDG_CONFIG_HOME") != "":
		return filepath.Join(s.env("XDG_CONFIG_HOME"), "muster", "config.yaml")
	case s.env("HOME") != "":
		return filepath.Join(s.env("HOME"), ".config", "muster", "config.yaml")
	default:
		return ""
	}
}

// configure reads the configuration file, once. What is wrong with it is told
// by begin.
func (s *session) configure() {
	if s.config != nil {
		return
	}
	s.config = map[string]string{}
	path := s.configPath()
	if path == "" {
		return
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && s.env("MUSTER_CONFIG") == "" {
		return
	}
	if err != nil {
		s.badConfig = usage(err.Error(), "MUSTER_CONFIG names the configuration file")
		return
	}
	read := map[string]any{}
	if err := yaml.Unmarshal(data, &read); err != nil {
		s.badConfig = usage(fmt.Sprintf("%s is not YAML: %s", path, firstLine(yaml.FormatError(err, false, false))), "write lines like dialect: mcli")
		return
	}
	names := slices.Sorted(maps.Keys(settings))
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if _, known := settings[name]; !known {
			e := usage(fmt.Sprintf("%s: there is no setting %q", path, name), "there are "+strings.Join(names, ", "))
			if near := nearest(name, names); len(near) > 0 {
				e.problem.Hint = "did you mean " + near[0] + "?"
			}
			s.badConfig = e
			return
		}
		switch v := read[name].(type) {
		case string, bool, int, uint64, int64, float64:
			s.config[name] = fmt.Sprint(v)
		default:
			s.badConfig = usage(fmt.Sprintf("%s: %s is not a text", path, name), "write "+name+": value")
			return
		}
	}
}
