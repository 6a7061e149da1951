package container

import (
	"encoding/json"
	"strings"
)

// Explain makes a sentence of what an OCI runtime wrote to its log: the last
// error, without the words that only its programmers need.
func Explain(log string) string {
	text := ""
	for line := range strings.Lines(log) {
		var rec struct{ Level, Msg string }
		if json.Unmarshal([]byte(line), &rec) == nil && rec.Level == "error" && rec.Msg != "" {
			text = rec.Msg
		}
	}
	for _, noise := range []string{
		"runc create failed: ", "runc run failed: ", "runc exec failed: ", "unable to start container process: ",
		"error during container init: ", "container_linux.go: ", "starting container process caused: ", "exec failed: ",
		"exec: ",
	} {
		text = strings.ReplaceAll(text, noise, "")
	}
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), ": unknown"))
	return strings.ReplaceAll(text, `\"`, `"`)
}
