package core

import (
	"testing"
	"time"
)

func TestATemplateRemembersItsLastDocuments(t *testing.T) {
	t.Parallel()
	var one Template
	for _, text := range []string{"a", "b", "b", "c", "a"} {
		one.Revise(text, "ann", time.Unix(1, 0), 3)
	}
	numbers := ""
	for _, v := range one.Versions {
		numbers += v.Document + string(rune('0'+v.Number))
	}
	if numbers != "b2c3a4" {
		t.Errorf("it remembers %s, want b2c3a4", numbers)
	}
	if one.Revise("d", "ben", time.Unix(2, 0), 1); len(one.Versions) != 1 || one.Last() != (TemplateVersion{5, "d", "ben", time.Unix(2, 0)}) {
		t.Errorf("%+v", one.Versions)
	}
}
