package terms

import (
	"strings"
	"testing"
)

func TestHostsAreFoldedAndNoneIsLost(t *testing.T) {
	for names, want := range map[string]string{
		"a1 a2 a3 b": "a[1-3],b", "a1 a3": "a[1,3]", "gpu gpu1": "gpu,gpu1", "gpu1 gpu": "gpu1,gpu", "a01 a1 a2": "a01,a[1-2]", "": "",
	} {
		if got := Hosts(strings.Fields(names)); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}
