package admission

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

func TestImagesHaveOneName(t *testing.T) {
	const digest = "@sha256:aaaa"
	for image, want := range map[string]string{
		"python": "docker.io/library/python:latest", "python:3.12": "docker.io/library/python:3.12", "acme/train": "docker.io/acme/train:latest",
		"index.docker.io/acme/train:1": "docker.io/acme/train:1", "docker.io/python:3": "docker.io/library/python:3", "localhost/x": "localhost/x:latest",
		"registry:5000/x": "registry:5000/x:latest", "registry:5000/x:7": "registry:5000/x:7", "ghcr.io/a/b" + digest: "ghcr.io/a/b" + digest, "python:3" + digest: "docker.io/library/python:3" + digest,
	} {
		if got := Full(image); got != want {
			t.Errorf("%s is %s, want %s", image, got, want)
		}
	}
}

func TestPatternsOfImages(t *testing.T) {
	for _, c := range []struct {
		pattern, image string
		want           bool
	}{
		{"registry.acme.com/*", "registry.acme.com/a/b:1", true},
		{"registry.acme.com/*", "registry.acme.com.evil.io/a", false},
		{"*", "python", true},
		{"python", "python:3.12", true},
		{"python", "pythons:3.12", false},
		{"python:3.12", "docker.io/library/python:3.12", true},
		{"python:3.12", "python:3.13", false},
		{"docker.io/library/*:3.*", "python:3.12", true},
		{"docker.io/library/*:3.*", "python:2.7", false},
		{"*a*a", "localhost/xa:1a", true},
		{"*aa*a", "localhost/a:a", false},
		{"ghcr.io/a/b@sha256:1", "ghcr.io/a/b@sha256:1", true},
		{"ghcr.io/a/b@sha256:1", "ghcr.io/a/b@sha256:2", false},
	} {
		if got := Matches(c.pattern, Full(c.image)); got != c.want {
			t.Errorf("%s of %s: %v", c.image, c.pattern, got)
		}
	}
}

func TestWhatIsRemembered(t *testing.T) {
	for _, c := range []struct {
		remember, approved string
		known, asked       []string
	}{
		{"", "python:3.12", []string{"docker.io/library/python:3.12"}, []string{"python:3.13", "python:3.12@sha256:1", "x/python:3.12"}},
		{"", "a.io/x@sha256:1", []string{"b.io/y@sha256:1"}, []string{"a.io/x:1", "a.io/x@sha256:2"}},
		{ByRepository, "a.io/x:1", []string{"a.io/x:2", "a.io/x@sha256:9"}, []string{"a.io/y:1"}},
		{ByDigest, "a.io/x:1", nil, []string{"a.io/x:1"}},
		{ByDigest, "a.io/x@sha256:1", []string{"a.io/x@sha256:1"}, []string{"a.io/x:1"}},
	} {
		r := &Rule{Type: Image, Remember: c.remember}
		known := map[string]bool{}
		for _, key := range r.Remembered(&core.CheckState{Images: []string{c.approved}}) {
			known[key] = true
		}
		unseen := func(image string) bool {
			return len(r.Unseen(&spec.Document{Image: image}, func(key string) bool { return known[key] })) > 0
		}
		for _, image := range c.known {
			if unseen(image) {
				t.Errorf("%q %s was approved, and %s is asked about", c.remember, c.approved, image)
			}
		}
		for _, image := range c.asked {
			if !unseen(image) {
				t.Errorf("%q %s was approved, and nobody is asked about %s", c.remember, c.approved, image)
			}
		}
	}
	r := &Rule{Type: Image, Trusted: []string{"ok.io/*"}}
	d := &spec.Document{Image: "ok.io/a", Master: &spec.Master{Image: "bad.io/m"}, Build: &spec.Build{Base: "bad.io/b"}}
	if got := strings.Join(r.Unseen(d, func(string) bool { return false }), " "); got != "bad.io/m bad.io/b" {
		t.Errorf("to be looked at: %s", got)
	}
}

func TestWrongChecks(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                 "type: is missing",
		`{"type":"spell"}`:                   `type: "spell" is not known`,
		`{"type":"webhook"}`:                 "url: is missing",
		`{"type":"webhook","url":"ftp://x"}`: "url: is not an http",
		`{"type":"webhook","url":"https://u:p@x"}`:                            "url: holds a password",
		`{"type":"webhook","url":"https://x","role":"r"}`:                     "approvals: people are not asked",
		`{"type":"webhook","url":"https://x","timeout":"1h"}`:                 "timeout: is not between",
		`{"type":"webhook","url":"https://x","tries":3}`:                      "tries: is after how many",
		`{"type":"webhook","url":"https://x","ca":"nonsense"}`:                "ca: is not one or more certificates",
		`{"type":"webhook","url":"https://x","unanswered":"perhaps"}`:         `unanswered: "perhaps" is not known`,
		`{"type":"approval","url":"https://x"}`:                               "url: is for type webhook",
		`{"type":"approval","approvals":3,"users":["a","b"]}`:                 "approvals: is more than the 2",
		`{"type":"approval","users":["a","a"]}`:                               "users[1]: is empty, or named twice",
		`{"type":"approval","approvals":21}`:                                  "approvals: is not between",
		`{"type":"approval","expired":"again"}`:                               "expired: says what is done",
		`{"type":"approval","kinds":["job"]}`:                                 `kinds[0]: "job" is not known`,
		`{"type":"approval","images":["x"]}`:                                  "images: images, trusted and remember",
		`{"type":"approval","within":"10ms"}`:                                 "within: is less than",
		`{"type":"image","when":"reservation"}`:                               "when: images are looked at before",
		`{"type":"image","images":["a b"]}`:                                   "images: is not a pattern",
		`{"type":"approval","minGpus":-1}`:                                    "minGpus: is less than 0",
		`{"type":"approval","role":"lead","approvals":2,"within":"24h"}`:      "",
		`{"type":"webhook","url":"https://x/y","unanswered":"open"}`:          "",
		`{"type":"image","images":["a.io/*"],"remember":"digest","role":"r"}`: "",
	} {
		r, err := Parse([]byte(text))
		if err == nil {
			err = r.Check()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse([]byte(`{"tipe":"approval"}`)); err == nil || !strings.Contains(err.Error(), "tipe") {
		t.Errorf("an unknown field: %v", err)
	}
}

func TestWhoVotes(t *testing.T) {
	may := map[string]bool{"lea": true, "kim": true, "sue": true}
	people := func(ds ...Delegation) *People {
		return &People{
			Has: func(name, role string) bool { return role == "lead" && may[name] },
			May: func(name string) bool { return may[name] },
			For: func(name string) (out []Delegation) {
				for _, d := range ds {
					if d.To == name {
						out = append(out, d)
					}
				}
				return out
			},
		}
	}
	lead := core.CheckState{Name: "big", Role: "lead", Need: 2, NotSubmitter: true}
	with := func(c core.CheckState, votes ...core.Vote) core.CheckState { c.Votes = votes; return c }
	ann := core.CheckState{Name: "legal", Users: []string{"ann"}, Need: 1}
	for i, c := range []struct {
		check     core.CheckState
		name, on  string
		refused   string
		delegated []Delegation
	}{
		{lead, "lea", "", "", nil},
		{lead, "bob", "", "bob may not decide check big", nil},
		{with(lead, core.Vote{By: "lea"}), "lea", "", "lea has approved check big already", nil},
		{with(lead, core.Vote{By: "lea"}), "kim", "", "", nil},
		{lead, "sue", "", "not decided by who submitted", nil}, // sue has
		{lead, "bob", "lea", "", []Delegation{{From: "lea", To: "bob"}}},
		{lead, "bob", "", "may not decide", []Delegation{{From: "eve", To: "bob"}}},                               // eve may not either
		{lead, "bob", "", "may not decide", []Delegation{{From: "sue", To: "bob"}}},                               // in the place of who submitted
		{lead, "sue", "", "not decided by who submitted", []Delegation{{From: "lea", To: "sue"}}},                 // nor is it lifted so
		{with(lead, core.Vote{By: "lea"}), "bob", "", "for lea, who has", []Delegation{{From: "lea", To: "bob"}}}, // one's word counts once
		{with(lead, core.Vote{By: "bob", For: "lea"}), "lea", "", "already, through bob", nil},
		{with(lead, core.Vote{By: "bob", For: "lea"}), "bob", "", "bob has approved", []Delegation{{From: "kim", To: "bob"}}}, // two words of one person
		{with(lead, core.Vote{By: "lea"}), "bob", "kim", "", []Delegation{{From: "lea", To: "bob"}, {From: "kim", To: "bob"}}},
		{ann, "ann", "", "", nil},
		{ann, "lea", "", "lea may not decide", nil},
		{ann, "bob", "ann", "", []Delegation{{From: "ann", To: "bob"}}},
		{core.CheckState{Name: "any"}, "lea", "", "", nil},
		{core.CheckState{Name: "any"}, "bob", "", "may not decide", nil},
		{core.CheckState{Name: "any"}, "sue", "", "", nil}, // it does not say not the submitter
	} {
		on, refused := Voter(&c.check, "sue", c.name, people(c.delegated...))
		switch {
		case c.refused == "" && (refused != nil || on != c.on):
			t.Errorf("%d: %s for %q: %v", i, c.name, on, refused)
		case c.refused != "" && (refused == nil || !strings.Contains(refused.Message, c.refused) || refused.Hint == ""):
			t.Errorf("%d: %s: %v, want %q", i, c.name, refused, c.refused)
		}
	}
	two := with(lead, core.Vote{By: "bob", For: "lea"}, core.Vote{By: "kim"})
	if !Approved(&two) || Tally(&two) != "2 of 2 approvals: bob for lea, kim" {
		t.Errorf("%v %s", Approved(&two), Tally(&two))
	}
	if one := with(lead, core.Vote{By: "kim"}); Approved(&one) {
		t.Error("one of two is enough")
	}
}

func TestWhomChecksAreAbout(t *testing.T) {
	w := &core.Workload{Kind: lifecycle.Training, Spec: &spec.Document{Image: "x.io/a"}}
	w.Spec.Resources.GPU.Count = 4
	never, always := func(string) bool { return false }, func(string) bool { return true }
	for i, c := range []struct {
		rule Rule
		seen func(string) bool
		want bool
	}{
		{Rule{Type: Approval}, never, true},
		{Rule{Type: Approval, Kinds: []string{"workspace"}}, never, false},
		{Rule{Type: Approval, Kinds: []string{"training"}}, never, true},
		{Rule{Type: Approval, MinGPUs: 4}, never, true},
		{Rule{Type: Approval, MinGPUs: 4.5}, never, false},
		{Rule{Type: Image}, never, true},
		{Rule{Type: Image}, always, false},
	} {
		if got := c.rule.For(w, c.seen); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
	open, closed := Rule{Type: Webhook, Unanswered: Open, Tries: 2}, Rule{Type: Webhook}
	if open.LetsThrough(1) || !open.LetsThrough(2) || closed.LetsThrough(99) || (&Rule{Type: Approval, Unanswered: Open}).LetsThrough(99) {
		t.Error("silence is judged otherwise")
	}
}

func TestWhatOthersSayIsPlain(t *testing.T) {
	for text, want := range map[string]string{
		"no": "no", "a\x1b[31mred\x07\nb\tc": "a[31mred b c", "evil\u202etxt": "eviltxt", "\xff": "\uFFFD", " x ": "x", strings.Repeat("ä", 600): strings.Repeat("ä", 500) + "…",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
