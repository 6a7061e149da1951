package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Delegation is that somebody has another decide for them, in a scope and until a time.
// As JSON it is what is stored.
type Delegation struct {
	From    string         `json:"from"`
	To      string         `json:"to"`
	Scope   core.ProjectID `json:"scope"`
	Until   time.Time      `json:"until"`
	Comment string         `json:"comment,omitempty"`
}

// People are what is known of who may decide where a workload is.
type People struct {
	// Has reports whether somebody has a role there, May whether they may approve
	// workloads there at all.
	Has func(name, role string) bool
	May func(name string) bool
	// For are the delegations to somebody that hold there and now.
	For func(name string) []Delegation
}

// Refusal is why somebody may not decide a check, and what helps.
type Refusal struct {
	Message string
	Hint    string
	// Taken is set where they have said what they had to say.
	Taken bool
}

func (r *Refusal) Error() string { return r.Message }

// among reports whether somebody is one of those whom a check asks.
func among(c *core.CheckState, p *People, name string) bool {
	switch {
	case slices.Contains(c.Users, name):
		return true
	case c.Role != "":
		return p.Has(name, c.Role)
	case len(c.Users) > 0:
		return false
	}
	return p.May(name)
}

// voted is the vote in which somebody's word was given, by them or for them.
func voted(c *core.CheckState, name string) *core.Vote {
	for i := range c.Votes {
		if v := &c.Votes[i]; v.By == name || v.For == name {
			return v
		}
	}
	return nil
}

// Voter says for whom a person decides a check of a workload of owner: empty for
// themselves, or the name of who has delegated it. Nobody's word counts twice, whether
// they give it or another does for them.
func Voter(c *core.CheckState, owner, name string, p *People) (on string, err *Refusal) {
	hint := "ask " + Whom(c)
	if c.NotSubmitter && name == owner {
		return "", &Refusal{Message: fmt.Sprintf("check %s is not decided by who submitted the workload, and that is %s", c.Name, name), Hint: hint}
	}
	if v := voted(c, name); v != nil {
		by := ""
		if v.By != name {
			by = ", through " + v.By
		}
		return "", &Refusal{Message: fmt.Sprintf("%s has approved check %s already%s", name, c.Name, by), Hint: fmt.Sprintf("%d of %d approvals are there: %s", len(c.Votes), max(c.Need, 1), hint), Taken: true}
	}
	if among(c, p, name) {
		return "", nil
	}
	taken := ""
	for _, d := range p.For(name) {
		switch {
		case c.NotSubmitter && d.From == owner, !among(c, p, d.From):
		case voted(c, d.From) != nil:
			taken = d.From
		default:
			return d.From, nil
		}
	}
	if taken != "" {
		return "", &Refusal{Message: fmt.Sprintf("%s decides for %s, who has approved check %s already", name, taken, c.Name), Hint: hint, Taken: true}
	}
	return "", &Refusal{Message: fmt.Sprintf("%s may not decide check %s", name, c.Name), Hint: hint}
}

// Whom says in words who decides a check.
func Whom(c *core.CheckState) string {
	var out []string
	if len(c.Users) > 0 {
		out = append(out, c.Users...)
	}
	if c.Role != "" {
		out = append(out, "somebody with role "+c.Role)
	}
	if len(out) == 0 {
		return "somebody who may approve workloads there"
	}
	return strings.Join(out, " or ")
}

// Approved reports whether those who have approved are enough.
func Approved(c *core.CheckState) bool { return len(c.Votes) >= max(c.Need, 1) }

// Tally says how far the approvals of a check are, with who has given them.
func Tally(c *core.CheckState) string {
	text := fmt.Sprintf("%d of %d approvals", len(c.Votes), max(c.Need, 1))
	var names []string
	for _, v := range c.Votes {
		if v.For != "" {
			names = append(names, v.By+" for "+v.For)
			continue
		}
		names = append(names, v.By)
	}
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	return text
}
