package spec_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

func TestNotifications(t *testing.T) {
	for text, says := range map[string]string{
		`{webhook: "https://h/a", secret: key, on: [Running, failed, DeadlineNear, "mcli:COMPLETED", Succeeded]}`: "",
		`{slack: "https://hooks.slack.com/x"}`:       "",
		`{slack: slack-url}`:                         "",
		`{email: ana.b+c@mail.example.com}`:          "",
		`{}`:                                         "names no receiver",
		`{email: a@b, slack: x}`:                     "several receivers",
		`{email: a@b, secret: x}`:                    "is for webhooks",
		`{webhook: "ftp://h"}`:                       "is not a URL",
		`{slack: "ftp://h"}`:                         "is not a URL",
		`{slack: "Not A Name"}`:                      "is not a name",
		`{email: "Ana <ana@example.com>"}`:           "not one plain address",
		`{email: "a@b\r\nRCPT TO:<c@d>"}`:            "not one plain address",
		`{email: "a@b,c@d"}`:                         "not one plain address",
		`{webhook: "https://h", on: [Runing]}`:       "did you mean Running",
		`{webhook: "https://h", on: ["no:Running"]}`: "is no status",
		`{webhook: "https://h", secret: "A B"}`:      "is not a name",
	} {
		d, err := spec.Load([]byte("command: ls\nnotifications: [" + text + "]\n"))
		switch {
		case says == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case says == "" && len(d.Notifications) != 1:
			t.Errorf("%s: %+v", text, d.Notifications)
		case says != "" && (err == nil || !strings.Contains(explained(err), says)):
			t.Errorf("%s: %v; want %q", text, err, says)
		}
	}
}

// explained is an error with its hints.
func explained(err error) string {
	out := err.Error()
	if all, ok := err.(codec.Errors); ok {
		for _, e := range all {
			out += " " + e.Hint
		}
	}
	return out
}
