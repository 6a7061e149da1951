package tiny

import "testing"

func TestClamp(t *testing.T) {
	for n, want := range map[amount]amount{-1: 0, 0: 0, 1: 1, 10: 10, 11: 10} {
		if got := Clamp(n); got != want {
			t.Error(n, got, want)
		}
	}
}

func TestLoose(t *testing.T) {
	if Loose(5) || !Loose(500) {
		t.Error("loose")
	}
}

func TestBoth(t *testing.T) {
	if Both(true, false) || Both(false, true) || Both(false, false) || !Both(true, true) {
		t.Error("both")
	}
}

func TestSum(t *testing.T) {
	if got := Sum([]int{1, -1, 2, 0, 5}); got != 3 {
		t.Error(got)
	}
}

func TestCheck(t *testing.T) {
	if err := Check("name"); err != nil {
		t.Error(err)
	}
}

func TestUntil(t *testing.T) {
	if got := Until(3); got != 3 {
		t.Error(got)
	}
}

func TestGreet(t *testing.T) {
	var n Note
	Greet(&n)
	if n.told[0] != "hello" {
		t.Error(n.told)
	}
}
