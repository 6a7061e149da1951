package session

import (
	"os/exec"
	"runtime"
)

// Browse opens a page in the user's browser, where there is a screen for it; false: it
// was not opened.
func (s *Session) Browse(url string) bool {
	program := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		program = "open"
	case s.Env("DISPLAY") == "" && s.Env("WAYLAND_DISPLAY") == "":
		return false
	}
	cmd := exec.Command(program, url)
	if cmd.Start() != nil {
		return false
	}
	go cmd.Wait() //nolint:errcheck // the browser is nobody's business
	return true
}
