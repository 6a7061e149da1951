package oci

import (
	"regexp"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
)

// form is a regular expression that is compiled when it is first asked: every
// command of this program would pay for it at its start.
type form struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

func (f *form) MatchString(s string) bool {
	f.once.Do(func() { f.re = regexp.MustCompile(f.text) })
	return f.re.MatchString(s)
}

var (
	hex64     = &form{text: `^[0-9a-f]{64}$`}
	tagForm   = &form{text: `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`}
	component = &form{text: `^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$`}
	hostForm  = &form{text: `^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?$`}
)

const nameForm = "names look like ubuntu:24.04, team/model:v2, registry.example.com:5000/team/model:v2 or …@sha256:…"

// CheckRef looks at the form of an image's name only, without any network. The
// error is an *Error of Kind BadName that says what is wrong and how it should be.
func CheckRef(ref string) error {
	if e := checkRef(ref); e != nil {
		return named("use", ref, e)
	}
	return nil
}

func badName(format string, args ...any) *Error { return failf(BadName, nil, format, args...) }

// checkRef returns *Error, nil when the name is good.
func checkRef(ref string) *Error {
	if e := checkWhole(ref); e != nil {
		return e
	}
	rest, digest, hasDigest := strings.Cut(ref, "@")
	if hasDigest {
		algorithm, hex, ok := strings.Cut(digest, ":")
		if !ok || algorithm != "sha256" || !hex64.MatchString(hex) {
			return badName("the digest %q is not sha256: and 64 hexadecimal digits in lower case; copy it from the registry", digest)
		}
	}
	path := rest
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		tag := rest[i+1:]
		path = rest[:i]
		switch {
		case tag == "":
			return badName("the tag after ':' is empty; write one, e.g. %s:latest, or leave the colon out", path)
		case len(tag) > 128:
			return badName("the tag has %d characters; at most 128 are allowed", len(tag))
		case !tagForm.MatchString(tag):
			return badName("the tag %q is not allowed: letters, digits, '_', '.' and '-', and not '.' or '-' at the start", tag)
		}
	}
	if e := checkPath(path); e != nil {
		return e
	}
	// The library that speaks to registries has the last word.
	if _, err := name.ParseReference(ref, name.WeakValidation); err != nil {
		return failf(BadName, err, "%v; %s", err, nameForm)
	}
	return nil
}

func checkWhole(ref string) *Error {
	switch scheme, _, hasScheme := strings.Cut(ref, "://"); {
	case ref == "":
		return badName("the name of the image is empty; %s", nameForm)
	case strings.TrimSpace(ref) != ref:
		return badName("the name has white space at its start or end; remove it")
	case len(ref) > 1024:
		return badName("the name has %d characters; at most 255 for host and path and 128 for the tag are allowed", len(ref))
	case strings.ContainsFunc(ref, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return badName("the name contains white space or control characters; %s", nameForm)
	case hasScheme:
		return badName("an image's name has no %s:// in front; leave it out and begin with the registry's host", scheme)
	case strings.Contains(ref, `\`):
		return badName(`the name contains '\'; parts are separated by '/'`)
	case strings.HasPrefix(ref, "/"), strings.HasPrefix(ref, "./"), strings.HasPrefix(ref, "../"), strings.HasPrefix(ref, "~"):
		return badName("this looks like a file's path, not like an image in a registry; %s", nameForm)
	case hex64.MatchString(ref):
		return badName("this is a bare image ID; add the repository: name@sha256:%s", ref)
	case strings.HasPrefix(ref, "sha256:"):
		return badName("this is a digest without a repository; write name@%s", ref)
	case strings.Count(ref, "@") > 1:
		return badName("the name contains '@' more than once; only the digest is set off by one")
	}
	return nil
}

func checkPath(path string) *Error {
	if path == "" {
		return badName("there is no repository in front of the tag or digest; %s", nameForm)
	}
	if len(path) > 255 {
		return badName("host and path have %d characters; at most 255 are allowed", len(path))
	}
	first, rest, several := strings.Cut(path, "/")
	if several && (strings.ContainsAny(first, ".:[") || first == "localhost") {
		if !hostForm.MatchString(first) {
			return badName("%q is not a registry's host and port, e.g. registry.example.com:5000", first)
		}
		path = rest
	}
	for c := range strings.SplitSeq(path, "/") {
		switch {
		case c == "":
			return badName("a part between slashes is empty; write each '/' once and none at the end")
		case component.MatchString(c):
		case strings.ToLower(c) != c && component.MatchString(strings.ToLower(c)):
			return badName("%q has upper case letters; repositories are written in lower case: %s", c, strings.ToLower(c))
		default:
			return badName("%q is not allowed: lower case letters and digits, with '.', '_' or '-' only between them", c)
		}
	}
	return nil
}

// parseRef turns a name into what registries understand: docker.io and :latest
// are what is left out.
func parseRef(ref string) (name.Reference, error) {
	if e := checkRef(ref); e != nil {
		return nil, e
	}
	r, err := name.ParseReference(ref, name.WeakValidation)
	if err != nil {
		return nil, failf(BadName, err, "%v; %s", err, nameForm)
	}
	return r, nil
}

// hexOf is the hexadecimal part of a digest that was parsed before.
func hexOf(digest string) string { return digest[strings.IndexByte(digest, ':')+1:] }
