package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are the pages that people read: those at the top, and all of docs,
// by their paths below the root.
func documents(t *testing.T, root string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "web/*.md", "sdk/python/*.md", "examples/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(root, file)
			pages[filepath.ToSlash(rel)] = string(text)
		}
	}
	return pages
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	literal = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]* src="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	special = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the headings of a page as GitHub makes addresses of them.
func anchors(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		out[strings.ReplaceAll(special.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), ""), " ", "-")] = true
	}
	return out
}

// deadLinks are the relative links of a page that lead nowhere.
func deadLinks(root, name string, pages map[string]string) []string {
	var dead []string
	text := literal.ReplaceAllString(fence.ReplaceAllString(pages[name], ""), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		to := m[1] + m[2]
		if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
			continue
		}
		file, anchor, _ := strings.Cut(to, "#")
		at := name
		if file != "" {
			at = filepath.ToSlash(filepath.Join(filepath.Dir(name), filepath.FromSlash(file)))
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(at))); err != nil {
				dead = append(dead, to)
				continue
			}
		}
		if page, ok := pages[at]; ok && anchor != "" && !anchors(page)[anchor] {
			dead = append(dead, to)
		}
	}
	return dead
}

func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	pages := documents(t, root)
	if len(pages) < 40 {
		t.Fatalf("only %d pages were found", len(pages))
	}
	for name := range pages {
		for _, to := range deadLinks(root, name, pages) {
			t.Errorf("%s: the link to %s leads nowhere", name, to)
		}
	}
}

// TestDeadLinksAreFound shows the check what it is to find.
func TestDeadLinksAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	pages := map[string]string{
		"a.md":   "# One *thing*, and `two`\n[x](b.md) [x](none.md) [x](#one-thing-and-two) [x](#none) [x](d/c.md#c) [x](d/c.md#d) [x](https://a/b)\n```\n[x](none2.md)\n# No heading\n```\n`[x](none3.md)`\n<img src=\"none.png\">\n",
		"b.md":   "",
		"d/c.md": "## C\n[x](../a.md) [x](a.md)\n",
	}
	if err := os.Mkdir(filepath.Join(root, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a.md": "none.md #none d/c.md#d none.png", "b.md": "", "d/c.md": "a.md"} {
		if got := strings.Join(deadLinks(root, name, pages), " "); got != want {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
}
