// Package rights lists what a server may do in a cluster that it drives, and asks
// the cluster whether it may.
package rights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/musterhq/muster/internal/doctor"
)

// Right is a set of verbs on resources of one API group, and what they are for.
type Right struct {
	Group     string
	Resources []string // a subresource behind a slash
	Names     []string // of objects; empty: all
	Verbs     []string
	For       string        // what a server does with it
	Without   doctor.Status // how bad it is not to have it
}

// All are the rights of a server. The Helm chart grants the same (templates/rbac.yaml;
// a test in deploy compares them).
var All = []Right{
	{"", []string{"nodes"}, nil, []string{"list", "watch"}, "see the nodes and their GPUs", doctor.Fail},
	{"", []string{"nodes/proxy"}, nil, []string{"get"}, "measure what pods use, by their kubelets", doctor.Warn},
	{"", []string{"namespaces"}, nil, []string{"get", "list", "watch", "create"}, "give each project a namespace", doctor.Fail},
	{"networking.k8s.io", []string{"networkpolicies"}, nil, []string{"create"}, "keep projects' pods apart, with --kube-isolate-network", doctor.Warn},
	{"", []string{"resourcequotas"}, nil, []string{"get", "create", "update"}, "keep projects' limits in their namespaces, with --kube-mirror-quotas", doctor.Warn},
	{"", []string{"limitranges"}, nil, []string{"create"}, "keep projects' limits in their namespaces, with --kube-mirror-quotas", doctor.Warn},
	{"coordination.k8s.io", []string{"leases"}, nil, []string{"create"}, "hold the cluster, so that no second server drives it", doctor.Fail},
	{"coordination.k8s.io", []string{"leases"}, []string{"muster-installation"}, []string{"get", "update"}, "hold the cluster, so that no second server drives it", doctor.Fail},
	{"", []string{"pods"}, nil, []string{"get", "list", "watch", "create", "patch", "delete"}, "run tasks", doctor.Fail},
	{"", []string{"pods/binding"}, nil, []string{"create"}, "place tasks on nodes", doctor.Fail},
	{"", []string{"pods/log"}, nil, []string{"get"}, "keep and show logs", doctor.Fail},
	{"", []string{"pods/exec", "pods/attach", "pods/portforward"}, nil, []string{"get", "create"}, "muster exec, attach and port-forward", doctor.Warn},
	{"", []string{"services"}, nil, []string{"get", "list", "create", "patch", "delete"}, "names for gangs, addresses for services", doctor.Fail},
	{"", []string{"secrets"}, nil, []string{"get", "create", "delete"}, "hand secrets to tasks, and registries' credentials to kubelets", doctor.Fail},
	{"", []string{"events"}, nil, []string{"list", "create", "patch"}, "say why a pod does not come up", doctor.Warn},
	{"", []string{"persistentvolumeclaims"}, nil, []string{"get", "patch"}, "place pods by their volumes", doctor.Warn},
	{"", []string{"persistentvolumes"}, nil, []string{"get"}, "place pods by their volumes", doctor.Warn},
	{"authentication.k8s.io", []string{"tokenreviews"}, nil, []string{"create"}, "know whose tokens of service accounts are", doctor.Warn},
	{"storage.k8s.io", []string{"storageclasses"}, nil, []string{"get"}, "place pods by their volumes", doctor.Warn},
	{"resource.k8s.io", []string{"resourceslices", "deviceclasses"}, nil, []string{"list", "watch"}, "see devices that are given through claims", doctor.Warn},
	{"resource.k8s.io", []string{"resourceclaims"}, nil, []string{"get", "list", "watch", "create", "update", "delete"}, "claim devices", doctor.Warn},
	{"resource.k8s.io", []string{"resourceclaims/status", "resourceclaims/binding"}, nil, []string{"update"}, "claim devices", doctor.Warn},
	{"muster.dev", []string{"workloads"}, nil, []string{"get", "list", "watch", "create", "update", "delete"}, "workloads as objects of the cluster", doctor.Warn},
	{"muster.dev", []string{"workloads/status"}, nil, []string{"patch"}, "workloads as objects of the cluster", doctor.Warn},
	{"apiextensions.k8s.io", []string{"customresourcedefinitions"}, []string{"workloads.muster.dev"}, []string{"get"}, "workloads as objects of the cluster", doctor.Warn},
	{"", []string{"pods/status"}, nil, []string{"patch"}, "say in others' pods why they wait", doctor.Warn},
	{"", []string{"pods/eviction"}, nil, []string{"create"}, "stop others' pods with their budget's consent", doctor.Warn},
	{"apps", []string{"replicasets", "deployments", "statefulsets", "daemonsets"}, nil, []string{"get"}, "know who made others' pods", doctor.Warn},
	{"batch", []string{"jobs"}, nil, []string{"get"}, "know who made others' pods", doctor.Warn},
}

// atOnce is how many questions an API server is asked at a time.
const atOnce = 8

// Examine asks the cluster, by SelfSubjectAccessReviews, for every right. The first
// check is the cluster itself; without an answer it is the only one.
func Examine(ctx context.Context, name string, c kubernetes.Interface) []doctor.Check {
	first := doctor.Check{Name: "cluster " + name, Status: doctor.OK}
	version, err := c.Discovery().ServerVersion()
	if err != nil {
		first.Status, first.Found = doctor.Fail, err.Error()
		first.Means, first.Fix = "nothing runs there", "kubectl cluster-info, with the same kubeconfig"
		return []doctor.Check{first}
	}
	first.Found = "Kubernetes " + version.GitVersion
	missing := make([][]string, len(All))
	failed := make([]error, len(All))
	var wg sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i, r := range All {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			missing[i], failed[i] = r.missing(ctx, c)
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		first.Status, first.Found = doctor.Fail, "it does not say what is allowed: "+err.Error()
		first.Fix = "kubectl auth can-i --list, with the same kubeconfig"
		return []doctor.Check{first}
	}
	checks := []doctor.Check{first}
	for _, status := range []doctor.Status{doctor.Fail, doctor.Warn} {
		for i, r := range All {
			if r.Without != status || len(missing[i]) == 0 {
				continue
			}
			checks = append(checks, doctor.Check{
				Name: "right in " + name, Status: status, Found: "not allowed: " + strings.Join(missing[i], ", "),
				Means: "cannot " + r.For, Fix: "helm upgrade with rbac.create=true, or grant it in a ClusterRole: deploy/helm/muster/templates/rbac.yaml",
			})
		}
	}
	if len(checks) == 1 {
		checks = append(checks, doctor.Check{Name: "rights in " + name, Status: doctor.OK, Found: fmt.Sprintf("all %d are there", count())})
	}
	return checks
}

func count() int {
	n := 0
	for _, r := range All {
		n += len(r.Resources) * len(r.Verbs)
	}
	return n
}

// missing lists what of r is not allowed, as "verb resource".
func (r Right) missing(ctx context.Context, c kubernetes.Interface) ([]string, error) {
	var out []string
	for _, resource := range r.Resources {
		plain, sub, _ := strings.Cut(resource, "/")
		for _, verb := range r.Verbs {
			a := &authorizationv1.ResourceAttributes{Group: r.Group, Resource: plain, Subresource: sub, Verb: verb}
			if len(r.Names) > 0 {
				a.Name = r.Names[0]
			}
			review, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: a},
			}, metav1.CreateOptions{})
			if err != nil {
				return nil, err
			}
			if !review.Status.Allowed {
				out = append(out, verb+" "+resource)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
