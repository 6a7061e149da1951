package spec

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

func TestQuantitiesAreReadExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		milli int64
		back  string
	}{
		{"0", 0, "0"}, {"4", 4000, "4"}, {"500m", 500, "0.5"}, {"0.5", 500, "0.5"}, {"1m", 1, "1m"}, {"1.5", 1500, "1.5"},
		{"16Gi", 16 << 30 * 1000, "16Gi"}, {"1.5G", 1500e9, "1.5G"}, {"64Ki", 64 << 10 * 1000, "64Ki"},
		{"1000", 1e6, "1K"}, {"1k", 1e6, "1K"}, {"1024", 1024e3, "1Ki"}, {"1.1Gi", 1181116006400, "1.1Gi"},
		{"1e3", 1e6, "1K"}, {"1E-3", 1, "1m"}, {"12e-1", 1200, "1.2"}, {".5", 500, "0.5"}, {"1.000000000000000000000000", 1000, "1"},
		{"9P", 9e18, "9P"}, {"8Pi", 8 << 50 * 1000, "8Pi"}, {"9223372036854775807m", codec.MaxInt64, "9223372036854775.807"}, {"1.", 1000, "1"},
	} {
		q, err := ParseQuantity(c.text)
		if err != nil || q.Milli() != c.milli || q.String() != c.back {
			t.Errorf("%s: %d %q %v; want %d %q", c.text, q.Milli(), q, err, c.milli, c.back)
		}
	}
	for _, bad := range []string{
		"", "-1", "m", ".", "x", "1 G", "1Gb", "1g", "1mi", "0.0001", "1.5m", "1E", "10P", "9Pi", "1e99", "99999999999999999999",
		"9223372036854775808m", "9223372036854776", "0x10", "1e", "1e+", "+1", "१",
	} {
		if q, err := ParseQuantity(bad); err == nil {
			t.Errorf("%q was read as %v", bad, q)
		}
	}
}

func TestQuantitiesRoundUpToUnits(t *testing.T) {
	t.Parallel()
	for q, want := range map[Quantity]int64{0: 0, 1: 1, 999: 1, 1000: 1, 1001: 2, codec.MaxInt64: codec.MaxInt64/1000 + 1} {
		if q.Units() != want {
			t.Errorf("%d: %d, want %d", q, q.Units(), want)
		}
	}
}

func TestDurationsAreReadExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want time.Duration
		back string
	}{
		{"0", 0, "0s"}, {"90", 90 * time.Second, "1m30s"}, {"90s", 90 * time.Second, "1m30s"}, {"15m", 15 * time.Minute, "15m"},
		{"12h", 12 * time.Hour, "12h"}, {"1h30m", 90 * time.Minute, "1h30m"}, {"1.5h", 90 * time.Minute, "1h30m"}, {"7d", 168 * time.Hour, "7d"},
		{"36h", 36 * time.Hour, "1d12h"}, {"250ms", 250 * time.Millisecond, "250ms"}, {"0s", 0, "0s"}, {"1d0h5s", 24*time.Hour + 5*time.Second, "1d5s"},
	} {
		d, err := ParseDuration(c.text)
		if err != nil || d.Std() != c.want || d.String() != c.back {
			t.Errorf("%s: %d %q %v", c.text, d, d, err)
		}
	}
	for _, bad := range []string{"", "s", "-1s", "1y", "5m3h", "1m1m", "1 m", "0.1ns", "300000d", "9223372037", "99999999999999999999", "h1", "1m30"} {
		if d, err := ParseDuration(bad); err == nil {
			t.Errorf("%q was read as %v", bad, d)
		}
	}
}

func TestPrioritiesHaveNames(t *testing.T) {
	t.Parallel()
	for _, name := range PriorityNames() {
		p, err := ParsePriority(name)
		if err != nil || p.String() != name && name != "inference" { // of two names the first is shown
			t.Errorf("%s: %v %v", name, p, err)
		}
	}
	for name, want := range map[string]Priority{
		"very-low": 25, "low": 40, "medium-low": 65, "medium": 80, "medium-high": 90, "high": 125, "very-high": 150,
		"train": 50, "interactive-preemptible": 75, "build": 100, "inference": 125,
	} {
		if p, err := ParsePriority(name); err != nil || p != want {
			t.Errorf("%s is %d, want %d: %v", name, p, want, err)
		}
	}
	for text, want := range map[string]Priority{"0": 0, "1000": 1000, "80": Medium, "55": 55} {
		if p, err := ParsePriority(text); err != nil || p != want {
			t.Errorf("%s: %d %v", text, p, err)
		}
	}
	for _, bad := range []string{"", "-1", "1001", "High", "1.5", "hgih"} {
		if p, err := ParsePriority(bad); err == nil {
			t.Errorf("%q was read as %d", bad, p)
		}
	}
}

func TestScalarsStandAlone(t *testing.T) {
	t.Parallel()
	type all struct {
		Q Quantity
		D Duration
		P Priority
		C Command
		G GPU
		M Parameters
		N Command
	}
	in := `{"Q":"16Gi","D":"1h30m","P":"high","C":["a","b"],"G":{"count":2},"M":{"n":12345678901234567890},"N":null}`
	var v all
	if err := json.Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil || string(out) != in {
		t.Errorf("%s %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"G":4,"Q":2,"D":90,"P":55,"C":"ls"}`), &v); err != nil || v.G.Count != 4 || v.Q != 2000 || v.P != 55 {
		t.Errorf("%+v %v", v, err)
	}
	for _, bad := range []string{`{"Q":true}`, `{"D":"x"}`, `{"P":{}}`, `{"C":[[]]}`, `{"G":"a"}`, `{"M":[]}`} {
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestScalarsComeBackFromTheirText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		n := rng.Int64N(codec.MaxInt64) >> rng.IntN(63)
		if rng.IntN(2) == 0 { // round ones
			n = n / 1000 * 1000
		}
		if q, err := ParseQuantity(Quantity(n).String()); err != nil || q != Quantity(n) {
			t.Fatalf("quantity %d: %s: %d %v", n, Quantity(n), q, err)
		}
		if d, err := ParseDuration(Duration(n).String()); err != nil || d != Duration(n) {
			t.Fatalf("duration %d: %s: %d %v", n, Duration(n), d, err)
		}
	}
	_ = Quantity(-codec.MaxInt64 - 1).String() // differences of quantities must not overflow the stack
	_ = Duration(-codec.MaxInt64 - 1).String()
}
