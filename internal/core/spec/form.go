package spec

import (
	"fmt"
	"strings"
	"time"
)

// The forms that texts of a document may have to have.
const (
	formName     = "name"     // of workloads, secrets, ports …
	formVariable = "variable" // of the environment
	formAbsolute = "absolute" // path
	formBelow    = "below"    // path below another
	formPath     = "path"     // either
	formImage    = "image"
	formTarget   = "target" // an image that is pushed
	formPackage  = "package"
	formRoute    = "route" // of HTTP
	formURL      = "url"
	formPool     = "pool"
	formClaim    = "claim"      // as Kubernetes names its objects
	formKey      = "labelKey"   // of nodes
	formValue    = "labelValue" // of nodes
	formInstant  = "instant"
	formResource = "resource" // extended, of nodes
	formAsset    = "asset"    // NAME, or NAME@VERSION
)

// forms say what is wrong with a text and what would be right; an empty
// problem is none.
var forms = map[string]func(s string) (problem, hint string){
	formName:     nameForm,
	formVariable: variableForm,
	formAbsolute: absoluteForm,
	formBelow:    belowForm,
	formPath:     pathForm,
	formImage:    imageForm,
	formTarget:   targetForm,
	formPackage:  packageForm,
	formRoute:    routeForm,
	formURL:      urlForm,
	formPool:     poolForm,
	formClaim:    claimForm,
	formKey:      labelKeyForm,
	formValue:    labelValueForm,
	formInstant:  instantForm,
	formResource: resourceForm,
	formAsset:    assetForm,
}

func nameForm(s string) (problem, hint string) {
	const rule = "use lower-case letters, digits and '-', beginning and ending with a letter or digit, at most 52 characters"
	switch {
	case len(s) > MaxName:
		return fmt.Sprintf("has %d characters, more than %d", len([]rune(s)), MaxName), rule
	case !label(s):
		return fmt.Sprintf("%q is not a name", shorten(s)), rule
	}
	return "", ""
}

// Named reports whether s can be the name of a workload, or of whatever else is
// named by that rule: lower-case letters, digits and '-', beginning and ending
// with a letter or digit, at most MaxName characters.
func Named(s string) bool { return s != "" && len(s) <= MaxName && label(s) }

func label(s string) bool {
	for i := range len(s) {
		edge := i == 0 || i == len(s)-1
		if c := s[i]; !(c >= 'a' && c <= 'z' || digit(c) || c == '-' && !edge) {
			return false
		}
	}
	return true
}

func variableForm(s string) (problem, hint string) {
	if !variable(s) {
		return fmt.Sprintf("%q is not a variable's name", shorten(s)), "use letters, digits and '_', not beginning with a digit"
	}
	return "", ""
}

func variable(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && c != '_' && (i == 0 || !digit(c)) {
			return false
		}
	}
	return s != ""
}

func absoluteForm(s string) (problem, hint string) {
	if !strings.HasPrefix(s, "/") {
		return fmt.Sprintf("%q is not an absolute path", shorten(s)), "begin it with '/'"
	}
	return pathForm(s)
}

func belowForm(s string) (problem, hint string) {
	if strings.HasPrefix(s, "/") {
		return fmt.Sprintf("%q is an absolute path", shorten(s)), "write it without the '/' at its beginning; it lies below another directory"
	}
	return pathForm(s)
}

// pathForm refuses what leads elsewhere than it seems. "." alone is the
// directory itself.
func pathForm(s string) (problem, hint string) {
	inner := strings.TrimSuffix(strings.TrimPrefix(s, "/"), "/")
	if inner == "" || inner == "." && s[0] != '/' {
		return "", ""
	}
	for i, part := range strings.Split(inner, "/") {
		switch {
		case part == "..":
			return fmt.Sprintf("%q holds '..'", shorten(s)), "write a path without it"
		case part == "" || part == "." && (i > 0 || s[0] == '/'):
			return fmt.Sprintf("%q holds an empty part or '.'", shorten(s)), "write the path without it"
		}
	}
	return "", ""
}

func packageForm(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty", "write the name of a package, or remove it"
	case s[0] == '-':
		return fmt.Sprintf("%q is an option, not a package", shorten(s)), "write names of packages only"
	}
	return "", ""
}

func routeForm(s string) (problem, hint string) {
	if s[0] != '/' || blank(s) {
		return fmt.Sprintf("%q is not a path of HTTP", shorten(s)), "write it like /healthz"
	}
	return "", ""
}

func instantForm(s string) (problem, hint string) {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return fmt.Sprintf("%q is not a point in time", shorten(s)), "write it like 2027-01-31T08:00:00Z, or with another zone, 2027-01-31T08:00:00+01:00"
	}
	return "", ""
}

func urlForm(s string) (problem, hint string) {
	rest, ok := strings.CutPrefix(s, "http://")
	if !ok {
		rest, ok = strings.CutPrefix(s, "https://")
	}
	if host, _, _ := strings.Cut(rest, "/"); !ok || host == "" || host[0] == ':' || blank(s) {
		return fmt.Sprintf("%q is not a URL", shorten(s)), "write it like https://example.com/admit; http and https are allowed"
	}
	return "", ""
}

func poolForm(s string) (problem, hint string) {
	if s == "" {
		return "is empty", "write the name of a pool, or remove it"
	}
	return nameForm(s)
}

func labelKeyForm(s string) (problem, hint string) {
	prefix, name, prefixed := strings.Cut(s, "/")
	if !prefixed {
		prefix, name = "", s
	}
	if name == "" || prefixed && prefix == "" || !word(name, "_-.", 63) || !word(prefix, "-.", 253) {
		return fmt.Sprintf("%q is not the key of a node's label", shorten(s)), "write it like zone or kubernetes.io/hostname: at most 63 letters, digits and '_', '-', '.' between them"
	}
	return "", ""
}

func labelValueForm(s string) (problem, hint string) {
	if !word(s, "_-.", 63) {
		return fmt.Sprintf("%q is not the value of a node's label", shorten(s)), "use at most 63 letters, digits and '_', '-', '.' between them"
	}
	return "", ""
}

// blank reports whether s holds white space or control characters.
func blank(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// claimForm is a DNS subdomain name (RFC 1123), as Kubernetes has it.
func claimForm(s string) (problem, hint string) {
	const allowed = "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit, at most 253 characters"
	if s == "" || len(s) > 253 {
		return fmt.Sprintf("%q is not a name in Kubernetes", shorten(s)), "allowed are " + allowed
	}
	for _, part := range strings.Split(s, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return fmt.Sprintf("%q is not a name in Kubernetes", shorten(s)), "allowed are " + allowed
		}
	}
	return "", ""
}
