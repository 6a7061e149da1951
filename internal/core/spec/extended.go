package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxNames is of how many names a map of counts may be.
const maxNames = 32

// counts checks names and their numbers.
func (v *validator) counts(f *field, m map[string]int) {
	path := f.at(v.indexes)
	if len(m) > maxNames {
		v.fail(path, strconv.Itoa(len(m)), fmt.Sprintf("has %d names, more than %d", len(m), maxNames), "leave out what it can do without")
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := join(path, shorten(k))
		if problem, hint := f.check(k); problem != "" {
			v.fail(at, k, problem, hint)
		}
		if n := m[k]; int64(n) < f.lower || int64(n) > f.upper {
			v.fail(at, strconv.Itoa(n), fmt.Sprintf("%d is outside %s to %s", n, f.lowest, f.highest), fmt.Sprintf("write a value from %s to %s, or remove it", f.lowest, f.highest))
		}
	}
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

// resourceForm is the name of an extended resource of Kubernetes; what has a
// field of its own is none here, so that there is one way to ask for it.
func resourceForm(s string) (problem, hint string) {
	profile, isMIG := strings.CutPrefix(s, migResource)
	switch {
	case elsewhere[s] != "":
		return fmt.Sprintf("%s is not asked for here", s), elsewhere[s]
	case isMIG:
		return fmt.Sprintf("%s is not asked for here", shorten(s)), "write resources.gpu.mig, such as: mig: {" + shorten(profile) + ": 1}"
	case strings.HasPrefix(s, hugeResource): // bytes, of a sort of volume that documents do not have
		return fmt.Sprintf("%s is memory in bytes, not a number of devices, and of use only as a volume that documents do not have", shorten(s)), "write resources.memory"
	}
	domain, name, qualified := strings.Cut(s, "/")
	notDomain, _ := claimForm(domain)
	switch {
	case !qualified:
		return fmt.Sprintf("%q has no domain", shorten(s)), "write the name as the node has it, such as rdma/hca_shared_devices_a"
	case notDomain != "" || len(domain)+len(requestsPrefix) > 253 || name == "" || !word(name, "_-.", 63):
		return fmt.Sprintf("%q is not the name of an extended resource", shorten(s)), "write a domain in lower case, '/' and at most 63 letters, digits and '_', '-', '.' between them, such as vpc.amazonaws.com/efa"
	case strings.Contains(s, kubernetesDomain) || strings.HasPrefix(s, requestsPrefix):
		return fmt.Sprintf("%q is a name that Kubernetes keeps for itself", shorten(s)), "write the name as the node has it, such as rdma/hca_shared_devices_a"
	}
	return "", ""
}

// ExtendedName refuses what is not the name of an extended resource, with the
// field to use instead where there is one. It fails with a FieldError.
func ExtendedName(s string) error {
	if problem, hint := resourceForm(s); problem != "" {
		return FieldError{Value: s, Problem: problem, Hint: hint}
	}
	return nil
}
