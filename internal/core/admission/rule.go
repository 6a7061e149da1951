// Package admission decides what a check of a scope asks of workloads: whom it is for,
// who answers it and how many of them have to, what silence means, and which images
// somebody has looked at before.
package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// The types of checks.
const (
	Approval = "approval" // people say yes or no
	Webhook  = "webhook"  // a program is asked
	Image    = "image"    // people look at an image before it is used for the first time
)

// Types are all of them.
func Types() []string { return []string{Approval, Webhook, Image} }

// What is done where nobody answers.
const (
	Open   = "open"   // a program that cannot be asked lets through
	Closed = "closed" // it is asked again, for ever or until the deadline
	Reject = "reject" // nobody has approved in time: it counts as rejected
	Again  = "again"  // nobody has approved in time: approvals are asked for anew
)

// What an approval of an image is remembered for.
const (
	ByImage      = "image"      // the name as it is written; a tag may be moved
	ByRepository = "repository" // whatever tag or digest
	ByDigest     = "digest"     // only what is named by digest
)

// When checks are made.
const (
	atQueue       = "queue"
	atReservation = "reservation"
)

// Rule is what a check asks. As JSON it is what is stored and what the API takes.
type Rule struct {
	Type    string   `json:"type"`
	Kinds   []string `json:"kinds,omitempty"`   // of workloads; none: all
	MinGPUs float64  `json:"minGpus,omitempty"` // only workloads that ask for so many in all
	When    string   `json:"when,omitempty"`    // queue or reservation; empty: queue
	// Within is until when somebody has to approve, and Expired what is done then.
	Within  spec.Duration `json:"within,omitempty"`
	Expired string        `json:"expired,omitempty"` // reject or again; empty: reject

	// Of a program: where it is asked, the secret that signs questions and whose that
	// is, the certificates that it is known by, how long one question may take, and what
	// is done once Tries questions in a row have brought no answer.
	URL        string        `json:"url,omitempty"`
	Secret     string        `json:"secret,omitempty"`
	SecretOf   string        `json:"secretOf,omitempty"`
	CA         string        `json:"ca,omitempty"` // PEM
	Timeout    spec.Duration `json:"timeout,omitempty"`
	Unanswered string        `json:"unanswered,omitempty"` // open or closed; empty: closed
	Tries      int           `json:"tries,omitempty"`

	// Of people: how many have to approve, who has a role where the workload is or is
	// named; with neither whoever may approve there.
	Approvals    int      `json:"approvals,omitempty"`
	Role         string   `json:"role,omitempty"`
	Users        []string `json:"users,omitempty"`
	NotSubmitter bool     `json:"notSubmitter,omitempty"`

	// Of images: patterns of those that it is about (none: all) and of those that need
	// no review, and what an approval is remembered for.
	Images   []string `json:"images,omitempty"`
	Trusted  []string `json:"trusted,omitempty"`
	Remember string   `json:"remember,omitempty"`
}

// Bounds of what a check may say.
const (
	approvalsMost = 20
	usersMost     = 100
	patternsMost  = 200
	patternLong   = 300 // bytes
	caLong        = 64 << 10
	urlLong       = 2000
	timeoutMost   = 5 * time.Minute
	triesMost     = 100
	triesUsual    = 3
	timeoutUsual  = 10 * time.Second
	withinLeast   = time.Second
)

// Parse reads a rule. It fails with Errors.
func Parse(data []byte) (*Rule, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	r := new(Rule)
	if err := d.Decode(r); err != nil {
		return nil, codec.Errors{{Problem: "is no check: " + err.Error(), Hint: "muster check create --help shows what there is"}}
	}
	return r, nil
}

// Person reports whether people answer checks of a type.
func Person(kind string) bool { return kind == Approval || kind == Image }

// Check says what is wrong with a rule. It fails with Errors.
func (r *Rule) Check() error {
	var errs codec.Errors
	fail := func(path, value, problem, hint string) {
		errs.Add(codec.FieldError{Path: path, Value: value, Problem: problem, Hint: hint})
	}
	oneOf := func(path, value string, allowed ...string) {
		if value != "" && !slices.Contains(allowed, value) {
			errs.Add(codec.FieldError{Path: path, Value: value, Problem: strconv.Quote(value) + " is not known", Allowed: allowed, Hint: "write one of " + strings.Join(allowed, ", ")})
		}
	}
	if r.Type == "" {
		fail("type", "", "is missing", "write one of "+strings.Join(Types(), ", "))
	}
	oneOf("type", r.Type, Types()...)
	for i, k := range r.Kinds {
		oneOf(fmt.Sprintf("kinds[%d]", i), k, kinds()...)
	}
	if r.MinGPUs < 0 {
		fail("minGpus", strconv.FormatFloat(r.MinGPUs, 'f', -1, 64), "is less than 0", "write a number of GPUs, or leave it out")
	}
	oneOf("when", r.When, atQueue, atReservation)
	oneOf("expired", r.Expired, Reject, Again)
	if w := r.Within.Std(); w != 0 && w < withinLeast {
		fail("within", r.Within.String(), "is less than "+withinLeast.String(), "write how long people have, like 24h")
	}
	if r.Expired == Again && r.Within == 0 {
		fail("expired", r.Expired, "says what is done when the time is over, and there is none", "write within: 24h beside it")
	}
	r.checkHook(fail, oneOf)
	r.checkPeople(fail)
	r.checkImages(fail, oneOf)
	return errs.OrNil()
}

func (r *Rule) checkHook(fail func(path, value, problem, hint string), oneOf func(path, value string, allowed ...string)) {
	if r.Type != Webhook {
		for _, f := range []struct {
			path string
			set  bool
		}{{"url", r.URL != ""}, {"secret", r.Secret != ""}, {"ca", r.CA != ""}, {"timeout", r.Timeout != 0}, {"unanswered", r.Unanswered != ""}, {"tries", r.Tries != 0}} {
			if f.set {
				fail(f.path, "", "is for type webhook", "leave it out")
			}
		}
		return
	}
	scheme, rest, _ := strings.Cut(r.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case r.URL == "":
		fail("url", "", "is missing beside type webhook", "write where the question is posted, such as: url: https://example.com/admit")
	case scheme != "http" && scheme != "https", host == "", len(r.URL) > urlLong, strings.ContainsFunc(r.URL, func(c rune) bool { return c <= ' ' || hidden(c) }):
		fail("url", r.URL, "is not an http or https URL", "write one like https://example.com/admit")
	case strings.Contains(host, "@"):
		fail("url", "", "holds a password, which whoever reads the check would read", "sign questions instead: secret: NAME")
	}
	if t := r.Timeout.Std(); t < 0 || t > timeoutMost || t > 0 && t < 10*time.Millisecond {
		fail("timeout", r.Timeout.String(), "is not between 10ms and "+timeoutMost.String(), "write one like 10s")
	}
	oneOf("unanswered", r.Unanswered, Open, Closed)
	if r.Tries < 0 || r.Tries > triesMost {
		fail("tries", strconv.Itoa(r.Tries), fmt.Sprintf("is not between 1 and %d", triesMost), "leave it out for 3")
	}
	if r.Tries != 0 && r.Unanswered != Open {
		fail("tries", strconv.Itoa(r.Tries), "is after how many questions without an answer it lets through, and it does not", "write unanswered: open beside it, or leave it out")
	}
	if len(r.CA) > caLong || r.CA != "" && !strings.Contains(r.CA, "-----BEGIN CERTIFICATE-----") {
		fail("ca", "", "is not one or more certificates in PEM", "give it the content of a file that begins with -----BEGIN CERTIFICATE-----")
	}
}

func (r *Rule) checkPeople(fail func(path, value, problem, hint string)) {
	if r.Type == Webhook {
		if r.Approvals != 0 || r.Role != "" || len(r.Users) > 0 || r.NotSubmitter {
			fail("approvals", "", "people are not asked by a check of type webhook", "leave approvals, role, users and notSubmitter out, or make another check for people")
		}
		return
	}
	if r.Approvals < 0 || r.Approvals > approvalsMost {
		fail("approvals", strconv.Itoa(r.Approvals), fmt.Sprintf("is not between 1 and %d", approvalsMost), "write how many different people have to approve")
	}
	if len(r.Users) > usersMost {
		fail("users", "", fmt.Sprintf("are more than %d", usersMost), "name a role instead")
	}
	if n := len(r.Users); n > 0 && r.Role == "" && r.Need() > n {
		fail("approvals", strconv.Itoa(r.Approvals), fmt.Sprintf("is more than the %d who may approve: it would never come true", n), "name more users, a role beside them, or fewer approvals")
	}
	for i, u := range r.Users {
		if strings.TrimSpace(u) == "" || slices.Contains(r.Users[:i], u) {
			fail(fmt.Sprintf("users[%d]", i), u, "is empty, or named twice", "write the name of a user")
		}
	}
}

func (r *Rule) checkImages(fail func(path, value, problem, hint string), oneOf func(path, value string, allowed ...string)) {
	if r.Type != Image {
		if len(r.Images)+len(r.Trusted) > 0 || r.Remember != "" {
			fail("images", "", "images, trusted and remember are for type image", "leave them out, or write type: image")
		}
		return
	}
	oneOf("remember", r.Remember, ByImage, ByRepository, ByDigest)
	if r.When == atReservation {
		fail("when", r.When, "images are looked at before a workload is queued", "leave it out")
	}
	if len(r.Images) > patternsMost || len(r.Trusted) > patternsMost {
		fail("images", "", fmt.Sprintf("there are more than %d patterns", patternsMost), "use * for any text")
	}
	for _, p := range append(slices.Clone(r.Images), r.Trusted...) {
		if p == "" || len(p) > patternLong || strings.ContainsAny(p, " \t\n") {
			fail("images", p, "is not a pattern of images", "write one like registry.acme.com/* or docker.io/library/python:*")
		}
	}
}

// kinds are those of workloads that can be asked about.
func kinds() (out []string) {
	for _, k := range lifecycle.Kinds() {
		out = append(out, string(k))
	}
	return out
}

// For reports whether a check is about a workload at all; reviewed says whether somebody
// has looked at an image before, of a check about images.
func (r *Rule) For(w *core.Workload, reviewed func(key string) bool) bool {
	if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, string(w.Kind)) {
		return false
	}
	if r.MinGPUs > 0 && float64(w.AskedMilli()) < r.MinGPUs*1000 {
		return false
	}
	return r.Type != Image || len(r.Unseen(w.Spec, reviewed)) > 0
}

// Need is how many have to approve.
func (r *Rule) Need() int { return max(r.Approvals, 1) }

// LetsThrough reports whether a program's silence lets a workload through after so many
// questions in a row without an answer.
func (r *Rule) LetsThrough(silent int) bool {
	tries := r.Tries
	if tries == 0 {
		tries = triesUsual
	}
	return r.Type == Webhook && r.Unanswered == Open && silent >= tries
}

// State is a check as a workload begins to wait for it.
func (r *Rule) State(name string, scope core.ProjectID, w *core.Workload, now time.Time, reviewed func(key string) bool) core.CheckState {
	c := core.CheckState{Name: name, Type: r.Type, When: r.When, Scope: scope, Verdict: core.CheckWaiting}
	if c.When == "" {
		c.When = atQueue
	}
	if r.Within > 0 {
		c.Within, c.Again = r.Within.Std(), r.Expired == Again
		c.Deadline = now.Add(c.Within)
	}
	if r.Type == Webhook {
		r.Ask(&c)
		return c
	}
	c.Need, c.Role, c.Users, c.NotSubmitter = r.Need(), r.Role, r.Users, r.NotSubmitter
	if r.Type == Image {
		c.Images = r.Unseen(w.Spec, reviewed)
	}
	return c
}

// Ask puts into a question how the program is asked at present.
func (r *Rule) Ask(c *core.CheckState) {
	c.URL, c.Timeout = r.URL, r.Timeout.Std()
	if c.Timeout <= 0 {
		c.Timeout = timeoutUsual
	}
}

// textLong bounds, in characters, what a program or a person says of a check.
const textLong = 500

// Plain is what somebody else has said, as people are shown it: without what moves the
// cursor of a terminal or hides text, and not long.
func Plain(text string) string {
	out := make([]rune, 0, min(len(text), textLong))
	for _, c := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case len(out) == textLong:
			return strings.TrimSpace(string(out)) + "…"
		case c == '\n' || c == '\t':
			out = append(out, ' ')
		case hidden(c):
		default:
			out = append(out, c)
		}
	}
	return strings.TrimSpace(string(out))
}
