package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Notification is one receiver that is told of statuses.
type Notification struct {
	On      []string `json:"on,omitempty" doc:"Statuses that it is told of: phases such as Running, words of other platforms such as mcli:COMPLETED, DeadlineNear, before a time limit ends it, DeadlineAtRisk, before its deadline can no longer be met, or DeadlineMissed. By default every end and these three." example:"[Running, Failed, DeadlineNear]"`
	Webhook string   `json:"webhook,omitempty" doc:"URL to which a CloudEvent is posted." example:"https://hooks.example.com/muster"`
	Secret  string   `json:"secret,omitempty" doc:"Secret of type env or mounted that holds the key with which the webhook is signed; a second line of it is a second key. Without one it is not signed." example:"hook-key"`
	Slack   string   `json:"slack,omitempty" doc:"Slack's incoming webhook: its URL, or the name of a secret of type env or mounted that holds it." example:"slack-url"`
	Email   string   `json:"email,omitempty" doc:"Address to which a mail is sent." example:"ana@example.com"`
}

// What a notification may take up: it is kept with each of its messages.
const (
	urlLongest = 2048 // bytes
	onMost     = 50
)

// OnByDefault are the statuses of a notification that names none.
func OnByDefault() []string {
	var on []string
	for _, p := range lifecycle.Phases() {
		if p.End && p.Phase != lifecycle.Deleted {
			on = append(on, string(p.Phase))
		}
	}
	return append(on, string(lifecycle.DeadlineNear), string(lifecycle.DeadlineAtRisk), string(lifecycle.DeadlineMissed))
}

// SlackSecret is the name of the secret that holds Slack's URL; empty where it
// is written out.
func (n *Notification) SlackSecret() string {
	if n.Slack == "" || strings.Contains(n.Slack, "://") {
		return ""
	}
	return n.Slack
}

// Check says what is wrong with a notification, one field at a time; an empty
// problem is nothing. It is for those that stand outside a document.
func (n *Notification) Check() (field, value, problem, hint string) {
	given := 0
	for _, to := range []string{n.Webhook, n.Slack, n.Email} {
		if to != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return "", "", "names no receiver", "write webhook: URL, slack: URL or email: ADDRESS"
	case given > 1:
		return "", "", "names several receivers", "write one notification for each"
	case n.Secret != "" && n.Webhook == "":
		return "secret", n.Secret, "is for webhooks, which it signs", "remove it; where Slack's URL is kept in a secret write slack: NAME"
	}
	for field, url := range map[string]string{"webhook": n.Webhook, "slack": n.Slack} {
		if len(url) > urlLongest {
			return field, codec.Shorten(url), fmt.Sprintf("has %d bytes, more than %d", len(url), urlLongest), "let the receiver know the rest by itself"
		}
	}
	if len(n.On) > onMost {
		return "on", fmt.Sprint(len(n.On)), fmt.Sprintf("names %d statuses, more than %d", len(n.On), onMost), "without any it is told of every end"
	}
	if n.Webhook != "" {
		if problem, hint = urlForm(n.Webhook); problem != "" {
			return "webhook", n.Webhook, problem, hint
		}
	}
	if n.Secret != "" {
		if problem, hint = nameForm(n.Secret); problem != "" {
			return "secret", n.Secret, problem, hint
		}
	}
	switch name := n.SlackSecret(); {
	case name != "":
		if problem, _ = nameForm(name); problem != "" {
			return "slack", name, problem, "write an https URL, or the name of a secret that holds it"
		}
	case n.Slack != "":
		if problem, hint = urlForm(n.Slack); problem != "" {
			return "slack", n.Slack, problem, hint
		}
	}
	if n.Email != "" && !Address(n.Email) {
		return "email", n.Email, fmt.Sprintf("%q is not one plain address", codec.Shorten(n.Email)), "write it like ana@example.com"
	}
	for i, word := range n.On {
		if !StatusKnown(word) {
			return fmt.Sprintf("on[%d]", i), word, fmt.Sprintf("%q is no status", codec.Shorten(word)), statusHint(word)
		}
	}
	return "", "", "", ""
}

// Address reports whether s is a bare address that mail can be sent to, of plain
// characters only, so that nothing of it can become a line or a header.
func Address(s string) bool {
	local, host, ok := strings.Cut(s, "@")
	if !ok || local == "" || len(s) > 254 || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return false
	}
	for i := range len(local) {
		if c := local[i]; !codec.Letter(c) && !codec.Digit(c) && !strings.ContainsRune(".!#$%&'*+-/=?^_`{|}~", rune(c)) {
			return false
		}
	}
	for _, part := range strings.Split(host, ".") {
		if len(part) > 63 || !label(strings.ToLower(part)) || part == "" {
			return false
		}
	}
	return true
}

// ConditionOf is what of a deadline, or a limit, a word asks to be told of; empty: it is
// another word.
func ConditionOf(word string) lifecycle.ConditionType {
	for _, t := range []lifecycle.ConditionType{lifecycle.DeadlineNear, lifecycle.DeadlineAtRisk, lifecycle.DeadlineMissed, lifecycle.BudgetNear, lifecycle.BudgetOver} {
		if strings.EqualFold(word, string(t)) {
			return t
		}
	}
	return ""
}

// StatusKnown reports whether a workload can be told of by this word: a phase,
// what ConditionOf knows, or a word of a dialect, whose name may stand before it and a
// colon. Upper and lower case are the same.
func StatusKnown(word string) bool {
	if ConditionOf(word) != "" {
		return true
	}
	if _, ok := NativeStatus(word); ok {
		return true
	}
	return len(StatusDialects(word)) > 0
}

// NativeStatus is the phase that a word names.
func NativeStatus(word string) (lifecycle.Phase, bool) {
	for _, p := range lifecycle.Phases() {
		if strings.EqualFold(string(p.Phase), word) {
			return p.Phase, true
		}
	}
	return "", false
}

// StatusDialects are the dialects that have a word, and what they write for it.
func StatusDialects(word string) map[lifecycle.Dialect]string {
	found := map[lifecycle.Dialect]string{}
	name, bare, named := strings.Cut(word, ":")
	if !named {
		bare = word
	}
	for _, d := range lifecycle.Dialects() {
		if named && !strings.EqualFold(name, string(d)) {
			continue
		}
		if status := lifecycle.Canonical(d, bare); status != "" {
			found[d] = status
		}
	}
	return found
}

func statusHint(word string) string {
	var all []string
	for _, p := range lifecycle.Phases() {
		all = append(all, string(p.Phase))
	}
	all = append(all, string(lifecycle.DeadlineNear), string(lifecycle.DeadlineAtRisk), string(lifecycle.DeadlineMissed), string(lifecycle.BudgetNear), string(lifecycle.BudgetOver))
	if near := nearest.Word(word, all); near != "" {
		return codec.DidYouMean(near)
	}
	return "muster lifecycle shows the phases; beside them there are DeadlineNear, DeadlineAtRisk, DeadlineMissed, BudgetNear, BudgetOver and the words of " + dialectNames()
}

func dialectNames() string {
	var names []string
	for _, d := range lifecycle.Dialects() {
		names = append(names, string(d))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// CheckLabels says what is wrong with labels that stand outside a document; an
// empty problem is nothing.
func CheckLabels(labels map[string]string) (field, problem, hint string) {
	if len(labels) > maxLabels {
		return "labels", fmt.Sprintf("has %d labels, more than %d", len(labels), maxLabels), "a few say which workloads are meant"
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if _, problem, hint = labelForm(k, labels[k]); problem != "" {
			return codec.Join("labels", codec.Shorten(k)), problem, hint
		}
	}
	return "", "", ""
}

// notificationsMost bounds what one step of a workload can set off.
const notificationsMost = 20
