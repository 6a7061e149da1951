package web_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// colour is red, green and blue, each from 0 to 1.
type colour [3]float64

func colourOf(t *testing.T, text string) colour {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	if err != nil || len(text) != 7 {
		t.Fatalf("%q is not #rrggbb", text)
	}
	return colour{float64(n>>16) / 255, float64(n>>8&255) / 255, float64(n&255) / 255}
}

// contrast is that of WCAG 2.2, from 1 to 21.
func (c colour) contrast(d colour) float64 {
	light := func(c colour) float64 {
		for i, v := range c {
			if c[i] = v / 12.92; v > 0.04045 {
				c[i] = math.Pow((v+0.055)/1.055, 2.4)
			}
		}
		return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
	}
	a, b := light(c), light(d)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// hue is in degrees, -1 of greys.
func (c colour) hue() float64 {
	top, low := max(c[0], c[1], c[2]), min(c[0], c[1], c[2])
	d := top - low
	switch {
	case d < 0.02:
		return -1
	case top == c[0]:
		return math.Mod((c[1]-c[2])/d*60+360, 360)
	case top == c[1]:
		return (c[2]-c[0])/d*60 + 120
	default:
		return (c[0]-c[1])/d*60 + 240
	}
}

func sameHue(a, b colour) bool {
	x, y := a.hue(), b.hue()
	if x < 0 || y < 0 {
		return x == y
	}
	d := math.Abs(x - y)
	return min(d, 360-d) < 10
}

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("src/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every word of every platform has a look, each colour of a platform a tone of
// the same hue that can be read wherever a status stands, in light and in dark, and
// no two colours the same tone.
func TestWordsOfOtherPlatformsHaveTheirLooks(t *testing.T) {
	said, css := source(t, "ui/said.ts"), source(t, "app.css")
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  \['\w+', '\w+', '([^']+)'\],$`).FindAllStringSubmatch(said, -1) {
		for _, word := range strings.Fields(m[1]) {
			if known[word] {
				t.Errorf("%s has two looks", word)
			}
			known[word] = true
		}
	}
	tones := map[string]string{}
	for _, m := range regexp.MustCompile(`'(#[0-9a-f]{6})': '(\w+)'`).FindAllStringSubmatch(said, -1) {
		tones[m[1]] = m[2]
	}
	used := map[string]string{}
	for _, d := range lifecycle.Dialects() {
		for _, w := range lifecycle.Words(d) {
			if !known[strings.TrimPrefix(strings.ToLower(w.Status), "jobstat_")] {
				t.Errorf("%s of %s has no look in src/ui/said.ts", w.Status, d)
			}
			if w.Color == "" {
				continue
			}
			tone := tones[w.Color]
			if tone == "" {
				t.Errorf("%s of %s: %s has no tone in src/ui/said.ts", w.Status, d, w.Color)
			}
			if other := used[tone]; other != "" && other != w.Color {
				t.Errorf("%s and %s are both %s", other, w.Color, tone)
			}
			used[tone] = w.Color
		}
	}

	// What a status may stand on: surfaces, in light and in dark, and its own tint.
	grounds := [2][]string{}
	for i, block := range []string{css[strings.Index(css, ":root {"):], css[strings.Index(css, ":root[data-theme='dark'] {"):]} {
		block = block[:strings.Index(block, "}")]
		for _, name := range []string{"paper", "surface", "raised", "sunk", "hover", "accent-tint"} {
			m := regexp.MustCompile(`--` + name + `: (#\w{6});`).FindStringSubmatch(block)
			if m == nil {
				t.Fatalf("app.css does not say what --%s is", name)
			}
			grounds[i] = append(grounds[i], m[1])
		}
	}
	for tone, own := range used {
		m := regexp.MustCompile(fmt.Sprintf(`\[data-tone='%s'\] \{ --c: light-dark\((#\w{6}), (#\w{6})\); --t: light-dark\((#\w{6}), (#\w{6})\); \}`, tone)).FindStringSubmatch(css)
		if m == nil {
			t.Errorf("app.css has no tone %s", tone)
			continue
		}
		for i, theme := range []string{"light", "dark"} {
			text := colourOf(t, m[1+i])
			if !sameHue(text, colourOf(t, own)) {
				t.Errorf("%s in %s: %s is another colour than %s", tone, theme, m[1+i], own)
			}
			for _, ground := range append(grounds[i], m[3+i]) {
				if c := text.contrast(colourOf(t, ground)); c < 4.5 {
					t.Errorf("%s in %s: %s on %s has a contrast of %.2f, 4.5 is needed", tone, theme, m[1+i], ground, c)
				}
			}
		}
	}
}
