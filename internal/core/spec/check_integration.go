package spec

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// integrations checks that each is one thing, and what git is told.
func (v *validator) integrations() {
	item := root().ByName["integrations"].Item
	for i := range v.doc.Integrations {
		in := &v.doc.Integrations[i]
		path := fmt.Sprintf("integrations[%d]", i)
		var given []string
		for _, c := range item.Fields {
			if !reflect.ValueOf(in).Elem().Field(c.Index).IsZero() {
				given = append(given, c.Name)
			}
		}
		switch len(given) {
		case 0:
			v.fail(path, "", "says nothing", "add one of "+strings.Join(item.Names, ", "), item.Names...)
		case 1:
		default:
			v.fail(path, "", "holds "+strings.Join(given, ", "), "make each an item of its own; they are done in their order")
		}
		if in.Git != nil {
			v.git(path+".git", in.Git)
		}
	}
}

func (v *validator) git(path string, g *Git) {
	short := isRepository(g.Repo)
	if g.Repo != "" && !short && !isClonable(g.Repo) {
		v.fail(path+".repo", g.Repo, fmt.Sprintf("%q is no repository", codec.Shorten(g.Repo)), "write ORG/REPO, an absolute path, or a URL that begins with https://, http://, ssh://, file:// or git@HOST:")
	}
	if isClonable(g.Repo) {
		if g.Host != "" {
			v.fail(path+".host", g.Host, "is for repositories written as ORG/REPO", "remove it; repo says where it is")
		}
		if g.SSH != nil {
			v.fail(path+".ssh", "", "is for repositories written as ORG/REPO", "remove it; repo says how it is cloned")
		}
	}
	if g.Host != "" && !isHost(g.Host) {
		v.fail(path+".host", g.Host, fmt.Sprintf("%q is not a host's name", codec.Shorten(g.Host)), "write it like gitlab.com")
	}
	if g.Branch != "" && (blank(g.Branch) || g.Branch[0] == '-') { // git would take it for an option
		v.fail(path+".branch", g.Branch, fmt.Sprintf("%q is not the name of a branch or tag", codec.Shorten(g.Branch)), "write it like main, without white space and not beginning with '-'")
	}
	if c := strings.ToLower(g.Commit); c != "" && (len(c) < 4 || len(c) > 64 || !isHex(c)) {
		v.fail(path+".commit", g.Commit, fmt.Sprintf("%q is not a commit", codec.Shorten(g.Commit)), "write 4 to 64 hexadecimal digits; branch takes the names of branches and tags")
	}
}

// isRepository reports whether s is ORG/REPO; some hosts have more parts.
func isRepository(s string) bool {
	parts := strings.Split(s, "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." || p[0] == '-' || strings.Trim(p, ".-_") == "" {
			return false
		}
		for i := range len(p) {
			if !codec.Alnum(p[i]) && strings.IndexByte(".-_", p[i]) < 0 {
				return false
			}
		}
	}
	return len(parts) > 1
}

// isClonable reports whether git can take s as it stands.
func isClonable(s string) bool {
	if blank(s) {
		return false
	}
	for _, scheme := range []string{"https://", "http://", "ssh://", "file:///"} {
		if rest, ok := strings.CutPrefix(s, scheme); ok {
			return rest != "" && rest[0] != '-' && rest[0] != '/'
		}
	}
	if rest, ok := strings.CutPrefix(s, "git@"); ok {
		host, path, _ := strings.Cut(rest, ":")
		return path != "" && isHost(host)
	}
	return len(s) > 1 && s[0] == '/'
}
