package spec

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

const maxTag = 128

const imageLike = "write it like ghcr.io/acme/train:1.4"

// imageForm checks [HOST[:PORT]/]REPOSITORY[:TAG][@DIGEST].
func imageForm(s string) (problem, hint string) {
	quoted := fmt.Sprintf("%q", codec.Shorten(s))
	if blank(s) {
		return quoted + " is not an image's name", imageLike
	}
	if i := strings.Index(s, "://"); i >= 0 {
		return quoted + " begins with a scheme", "remove " + codec.Shorten(s[:i+3])
	}
	name, digest, has := strings.Cut(s, "@")
	if has && !isDigest(digest) {
		return fmt.Sprintf("%q is not a digest", codec.Shorten(digest)), "write it as sha256: and 64 hexadecimal digits after the '@'"
	}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		if tag := name[i+1:]; !isTag(tag) {
			return fmt.Sprintf("%q is not a tag", codec.Shorten(tag)), fmt.Sprintf("use at most %d letters, digits and '_', '-', '.' after the ':', beginning with none of the last two", maxTag)
		}
		name = name[:i]
	}
	if first, rest, has := strings.Cut(name, "/"); has && (first == "localhost" || strings.ContainsAny(first, ".:")) {
		if !isHost(first) {
			return fmt.Sprintf("%q is not a registry's host", codec.Shorten(first)), imageLike
		}
		name = rest
	}
	if low := strings.ToLower(name); low != name {
		return fmt.Sprintf("%q has upper-case letters", codec.Shorten(name)), codec.DidYouMean(codec.Shorten(strings.Replace(s, name, low, 1)))
	}
	for part := range strings.SplitSeq(name, "/") {
		if !isRepositoryPart(part) {
			return quoted + " is not an image's name", "use lower-case letters and digits with '.', '_' or '-' between them, and '/' between parts"
		}
	}
	return "", ""
}

// targetForm is imageForm for what is pushed: its digest is not known before.
func targetForm(s string) (problem, hint string) {
	if i := strings.IndexByte(s, '@'); i >= 0 {
		return fmt.Sprintf("%q has a digest", codec.Shorten(s)), "write a name and a tag; the digest is known once it is pushed"
	}
	return imageForm(s)
}

func isDigest(s string) bool {
	algorithm, hex, ok := strings.Cut(s, ":")
	if !ok || algorithm == "" || len(hex) < 32 || algorithm == "sha256" && len(hex) != 64 {
		return false
	}
	return word(algorithm, "+._-", 64) && isHex(hex)
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

func isTag(s string) bool {
	for i := range len(s) {
		if c := s[i]; !codec.Alnum(c) && c != '_' && (i == 0 || c != '.' && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= maxTag
}

func isHost(s string) bool {
	host, port, has := strings.Cut(s, ":")
	if d, rest := codec.Digits(port); has && (d == "" || rest != "" || len(d) > 5) {
		return false
	}
	return host != "" && word(host, "-.", 253)
}

// isRepositoryPart checks letters and digits with '.', '_', '__' or any number
// of '-' between them.
func isRepositoryPart(s string) bool {
	if !word(s, "._-", 255) || s == "" {
		return false
	}
	for i := 1; i < len(s); i++ {
		a, b := s[i-1], s[i]
		between := !codec.Alnum(a) && !codec.Alnum(b)
		if between && (a != b || a == '.') || i > 1 && b == '_' && a == '_' && s[i-2] == '_' {
			return false
		}
	}
	return true
}
