package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// commit is one of those that a release brings.
type commit struct{ hash, subject, body string }

// notes writes what the commits since the last release say of themselves: what to know
// for an upgrade, then their subjects by area.
func (r *release) notes() error {
	since, err := r.git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^")
	span := since + "..HEAD"
	if err != nil { // the first
		since, span = "", "HEAD"
	}
	text, err := r.git("log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", span)
	if err != nil {
		return err
	}
	var all []commit
	for record := range strings.SplitSeq(text, "\x1e") {
		if words := strings.SplitN(strings.TrimSpace(record), "\x1f", 3); len(words) == 3 {
			all = append(all, commit{words[0], words[1], words[2]})
		}
	}
	return r.put("RELEASE_NOTES.md", []byte(notesOf("Muster "+r.version+", "+r.date.Format("2 January 2006"), since, all)), 0o644)
}

var (
	// upgrade is a paragraph of a commit's body that whoever upgrades has to read.
	upgrade = regexp.MustCompile(`(?ms)^Upgrade: (.*?)(?:\n\n|\z)`)
	area    = regexp.MustCompile(`^([a-z0-9/_-]+(?:, [a-z0-9/_-]+)*): (.+)$`)
)

// ofItself are the areas of commits that change nothing for who uses it.
var ofItself = []string{"archtest", "bench", "ci", "house", "lint", "scripts", "test", "tests", "tools"}

// notesOf writes the notes of commits, the newest first.
func notesOf(title, since string, all []commit) string {
	byArea, mustKnow, inside := map[string][]string{}, []string{}, 0
	for _, c := range all {
		for _, m := range upgrade.FindAllStringSubmatch(c.body, -1) {
			mustKnow = append(mustKnow, fmt.Sprintf("- %s (%s)", strings.Join(strings.Fields(m[1]), " "), c.hash))
		}
		name, says := "other", c.subject
		if m := area.FindStringSubmatch(c.subject); m != nil {
			name, says = m[1], m[2]
		}
		if slices.Contains(ofItself, name) {
			inside++
			continue
		}
		byArea[name] = append(byArea[name], fmt.Sprintf("- %s (%s)", says, c.hash))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n", title)
	if since != "" {
		fmt.Fprintf(&out, "Since %s: %d commits.\n\n", since, len(all))
	} else {
		fmt.Fprintf(&out, "The first release, of %d commits.\n\n", len(all))
	}
	out.WriteString("Back up the data directory first, as docs/upgrade.md says: an older program refuses a newer database.\n")
	if len(mustKnow) > 0 {
		fmt.Fprintf(&out, "\n## Before you upgrade\n\n%s\n", strings.Join(mustKnow, "\n"))
	}
	areas := make([]string, 0, len(byArea))
	for name := range byArea {
		areas = append(areas, name)
	}
	slices.Sort(areas)
	for _, name := range areas {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n", name, strings.Join(byArea[name], "\n"))
	}
	if inside > 0 {
		fmt.Fprintf(&out, "\n%d commits more changed tests, tools and how the code is laid out.\n", inside)
	}
	return out.String()
}
