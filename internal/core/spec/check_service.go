package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// service checks what inference says about its replicas, checks and what is
// made of results.
func (v *validator) service() {
	d := v.doc
	if v.kind.Replicated() {
		v.inference()
	}
	names := map[string]int{}
	for i := range d.Checks {
		c := &d.Checks[i]
		if earlier, twice := names[c.Name]; twice && c.Name != "" {
			v.fail(fmt.Sprintf("checks[%d].name", i), c.Name, fmt.Sprintf("%q is also the name of checks[%d]", c.Name, earlier), "give each its own name")
		} else {
			names[c.Name] = i
		}
		v.check(fmt.Sprintf("checks[%d]", i), c)
	}
	if p := d.Publish; p != nil && p.Serve != nil {
		s := p.Serve
		v.resources("publish.serve.resources", s.Resources, s.Image != "")
	}
}

func (v *validator) check(path string, c *Check) {
	switch {
	case c.Type == "webhook" && c.URL == "":
		v.fail(path+".url", "", "is missing beside type webhook", "write where the question is posted, such as: url: https://example.com/admit")
	case c.Type == "approval" && c.URL != "":
		v.fail(path+".url", c.URL, "is for type webhook", "remove it, or write type: webhook")
	}
	if c.Type == "webhook" && len(c.Users) > 0 {
		v.fail(path+".users", "", "is for type approval", "remove it, or write type: approval")
	}
	for i, u := range c.Users {
		if strings.TrimSpace(u) == "" {
			v.fail(fmt.Sprintf("%s.users[%d]", path, i), u, "is empty", "write the name of a user, or remove it")
		}
	}
}

func (v *validator) inference() {
	d := v.doc
	if a := d.Autoscale; a != nil && a.Max > 0 {
		switch {
		case a.Min > a.Max:
			v.fail("autoscale.min", strconv.Itoa(a.Min), fmt.Sprintf("%d is more than max, %d", a.Min, a.Max), "lower it, or raise autoscale.max")
		case d.Replicas != nil && (*d.Replicas < a.Min || *d.Replicas > a.Max):
			v.fail("replicas", strconv.Itoa(*d.Replicas), fmt.Sprintf("%d is outside autoscale's %d to %d", *d.Replicas, a.Min, a.Max), "write a number between them, or leave it out")
		}
	}
	asked := d.Probe != nil && d.Probe.Port > 0
	if len(d.Ports) == 0 && !asked && (d.Probe != nil || d.Autoscale != nil) {
		what := "autoscale"
		if d.Probe != nil {
			what = "probe"
		}
		v.fail("ports", "", "is missing beside "+what, "write the port on which replicas listen, such as: ports: [8000]")
	}
	if u := d.Update; u.MaxSurge != nil && u.MaxUnavailable != nil && *u.MaxSurge == 0 && *u.MaxUnavailable == 0 {
		v.fail("update", "", "maxSurge and maxUnavailable are both 0: no replica could ever be replaced", "write maxUnavailable: 1 to need no room for another, or maxSurge: 1")
	}
}

// retry checks waits, and that every rule can be reached.
func (v *validator) retry() {
	r := &v.doc.Retry
	if r.MaxBackoff > 0 && r.Backoff > r.MaxBackoff {
		v.fail("retry.backoff", r.Backoff.String(), fmt.Sprintf("%s is longer than maxBackoff, %s", r.Backoff, r.MaxBackoff), "raise retry.maxBackoff as well")
	}
	for i := range r.Rules {
		rule := &r.Rules[i]
		path := fmt.Sprintf("retry.rules[%d]", i)
		if len(rule.ExitCodes) == 0 && len(rule.Reasons) == 0 && i+1 < len(r.Rules) {
			v.fail(path, "", "fits everything, so that no later rule is ever reached", "make it the last, or add exitCodes or reasons")
		}
		if rule.Action == "fail" && rule.Limit > 0 {
			v.fail(path+".limit", strconv.Itoa(rule.Limit), "is for rules that try again; this one fails", "remove it, or write action: retry")
		}
	}
}
