package problem

import (
	"slices"
	"strings"
	"testing"
)

// TestAProblemOfAFieldSaysWhatToDo: which field, which value, what is allowed, and
// what to write instead, for people and for programs.
func TestAProblemOfAFieldSaysWhatToDo(t *testing.T) {
	p := OneOf("state", "asleep", "pending", "running")
	if p.Status != 422 || p.Code != "invalid" || p.Detail != `state: "asleep" is not known` || p.Hint != "write one of pending, running" {
		t.Errorf("one of several: %+v", p)
	}
	if e := p.Errors[0]; e.Path != "state" || e.Value != "asleep" || !slices.Equal(e.Allowed, []string{"pending", "running"}) || e.Hint != p.Hint {
		t.Errorf("one of several, for programs: %+v", e)
	}
	p = BadValue("step", "fast", "is not a length of time", "write one like 10s")
	if e := p.Errors[0]; e.Value != "fast" || !strings.HasPrefix(e.Problem, `"fast" is not`) || e.Allowed != nil {
		t.Errorf("a value: %+v", e)
	}
}
