package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// MaxName is how many characters a workload's name may have, and others that are
// written by the same rule.
const MaxName = 52

// maxLabels is how many labels there may be.
const maxLabels = 64

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
		return fmt.Sprintf("%q is not a name", codec.Shorten(s)), rule
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
		if c := s[i]; !(c >= 'a' && c <= 'z' || codec.Digit(c) || c == '-' && !edge) {
			return false
		}
	}
	return true
}

func variableForm(s string) (problem, hint string) {
	if !variable(s) {
		return fmt.Sprintf("%q is not a variable's name", codec.Shorten(s)), "use letters, digits and '_', not beginning with a digit"
	}
	return "", ""
}

func variable(s string) bool {
	for i := range len(s) {
		if c := s[i]; !codec.Letter(c) && c != '_' && (i == 0 || !codec.Digit(c)) {
			return false
		}
	}
	return s != ""
}

func absoluteForm(s string) (problem, hint string) {
	if !strings.HasPrefix(s, "/") {
		return fmt.Sprintf("%q is not an absolute path", codec.Shorten(s)), "begin it with '/'"
	}
	return pathForm(s)
}

func belowForm(s string) (problem, hint string) {
	if strings.HasPrefix(s, "/") {
		return fmt.Sprintf("%q is an absolute path", codec.Shorten(s)), "write it without the '/' at its beginning; it lies below another directory"
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
			return fmt.Sprintf("%q holds '..'", codec.Shorten(s)), "write a path without it"
		case part == "" || part == "." && (i > 0 || s[0] == '/'):
			return fmt.Sprintf("%q holds an empty part or '.'", codec.Shorten(s)), "write the path without it"
		}
	}
	return "", ""
}

func packageForm(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty", "write the name of a package, or remove it"
	case s[0] == '-':
		return fmt.Sprintf("%q is an option, not a package", codec.Shorten(s)), "write names of packages only"
	}
	return "", ""
}

func routeForm(s string) (problem, hint string) {
	if s[0] != '/' || blank(s) {
		return fmt.Sprintf("%q is not a path of HTTP", codec.Shorten(s)), "write it like /healthz"
	}
	return "", ""
}

func instantForm(s string) (problem, hint string) {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return fmt.Sprintf("%q is not a point in time", codec.Shorten(s)), "write it like 2027-01-31T08:00:00Z, or with another zone, 2027-01-31T08:00:00+01:00"
	}
	return "", ""
}

func urlForm(s string) (problem, hint string) {
	rest, ok := strings.CutPrefix(s, "http://")
	if !ok {
		rest, ok = strings.CutPrefix(s, "https://")
	}
	if host, _, _ := strings.Cut(rest, "/"); !ok || host == "" || host[0] == ':' || blank(s) {
		return fmt.Sprintf("%q is not a URL", codec.Shorten(s)), "write it like https://example.com/admit; http and https are allowed"
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
		return fmt.Sprintf("%q is not the key of a node's label", codec.Shorten(s)), "write it like zone or kubernetes.io/hostname: at most 63 letters, digits and '_', '-', '.' between them"
	}
	return "", ""
}

func labelValueForm(s string) (problem, hint string) {
	if !word(s, "_-.", 63) {
		return fmt.Sprintf("%q is not the value of a node's label", codec.Shorten(s)), "use at most 63 letters, digits and '_', '-', '.' between them"
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
		return fmt.Sprintf("%q is not a name in Kubernetes", codec.Shorten(s)), "allowed are " + allowed
	}
	for _, part := range strings.Split(s, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return fmt.Sprintf("%q is not a name in Kubernetes", codec.Shorten(s)), "allowed are " + allowed
		}
	}
	return "", ""
}

// resourceForm is the name of an extended resource of Kubernetes; what has a
// field of its own is none here, so that there is one way to ask for it.
func resourceForm(s string) (problem, hint string) {
	profile, isMIG := strings.CutPrefix(s, migResource)
	switch {
	case elsewhere[s] != "":
		return fmt.Sprintf("%s is not asked for here", s), elsewhere[s]
	case isMIG:
		return fmt.Sprintf("%s is not asked for here", codec.Shorten(s)), "write resources.gpu.mig, such as: mig: {" + codec.Shorten(profile) + ": 1}"
	case strings.HasPrefix(s, hugeResource): // bytes, of a sort of volume that documents do not have
		return fmt.Sprintf("%s is memory in bytes, not a number of devices, and of use only as a volume that documents do not have", codec.Shorten(s)), "write resources.memory"
	}
	domain, name, qualified := strings.Cut(s, "/")
	notDomain, _ := claimForm(domain)
	switch {
	case !qualified:
		return fmt.Sprintf("%q has no domain", codec.Shorten(s)), "write the name as the node has it, such as rdma/hca_shared_devices_a"
	case notDomain != "" || len(domain)+len(requestsPrefix) > 253 || name == "" || !word(name, "_-.", 63):
		return fmt.Sprintf("%q is not the name of an extended resource", codec.Shorten(s)), "write a domain in lower case, '/' and at most 63 letters, digits and '_', '-', '.' between them, such as vpc.amazonaws.com/efa"
	case strings.Contains(s, kubernetesDomain) || strings.HasPrefix(s, requestsPrefix):
		return fmt.Sprintf("%q is a name that Kubernetes keeps for itself", codec.Shorten(s)), "write the name as the node has it, such as rdma/hca_shared_devices_a"
	}
	return "", ""
}

// elsewhere are resources of Kubernetes that are not asked for by their names,
// with what to do instead.
var elsewhere = map[string]string{
	"cpu": "write resources.cpu", "memory": "write resources.memory",
	"ephemeral-storage": "leave it out: disk is neither counted nor limited",
	"storage":           "leave it out: disk is neither counted nor limited",
	"pods":              "leave it out: each task is one",
	"nvidia.com/gpu":    "write resources.gpu.count", "amd.com/gpu": "write resources.gpu.count", "gpu.intel.com/i915": "write resources.gpu.count",
}

const (
	migResource      = "nvidia.com/mig-"
	hugeResource     = "hugepages-"
	kubernetesDomain = "kubernetes.io/"
	// requestsPrefix is Kubernetes' own word for the same resource in a quota,
	// which a domain has to leave room for, and must not begin with.
	requestsPrefix = "requests."
)

func assetForm(s string) (problem, hint string) {
	name, _, ok := SplitAsset(s)
	if !ok || !Named(name) {
		return fmt.Sprintf("%q is not the name of an asset", codec.Shorten(s)), "write NAME, or NAME@3 for version 3"
	}
	return "", ""
}

// labelForm says what is wrong with a label, and which of its two texts that is.
func labelForm(name, value string) (which, problem, hint string) {
	if !word(name, "_-./", 253) || name == "" {
		return name, fmt.Sprintf("%q is not a label's name", codec.Shorten(name)), "use letters, digits and '_', '-', '.', '/' between them"
	}
	if !word(value, "_-.", 63) {
		return value, fmt.Sprintf("%q is not a label's value", codec.Shorten(value)), "use at most 63 letters, digits and '_', '-', '.' between them; longer text belongs into annotations"
	}
	return "", "", ""
}

// word reports whether s is made of letters and digits with others between.
func word(s, others string, most int) bool {
	if len(s) > most {
		return false
	}
	for i := range len(s) {
		edge := i == 0 || i == len(s)-1
		if !codec.Alnum(s[i]) && (edge || strings.IndexByte(others, s[i]) < 0) {
			return false
		}
	}
	return true
}

// unfit says why no program can be given s; "" when one can.
func unfit(s string, most int) (problem, hint string) {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return "holds a NUL byte", "remove it; no program can be given one"
	case len(s) > most:
		return fmt.Sprintf("has %d bytes, more than %d", len(s), most), "put long text into a file"
	}
	return "", ""
}

// ExtendedName refuses what is not the name of an extended resource, with the
// field to use instead where there is one. It fails with a FieldError.
func ExtendedName(s string) error {
	if problem, hint := resourceForm(s); problem != "" {
		return codec.FieldError{Value: s, Problem: problem, Hint: hint}
	}
	return nil
}

// SplitAsset reads NAME or NAME@VERSION; version 0 is the present one.
func SplitAsset(ref string) (name string, version int, ok bool) {
	name, digits, at := strings.Cut(ref, "@")
	if !at {
		return name, 0, name != ""
	}
	n, err := strconv.Atoi(digits)
	return name, n, err == nil && n > 0 && name != "" && digits[0] != '+'
}
