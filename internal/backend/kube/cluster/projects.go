package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// Namespace is that of a project, which is made where it is missing.
func (p *Cluster) Namespace(ctx context.Context, project core.ProjectID) (string, error) {
	if err := p.Sync(ctx); err != nil {
		return "", err
	}
	name := p.Namespaces.Of(project)
	return name, p.EnsureNamespace(ctx, name, project)
}

// Project is the one that a namespace belongs to: by its label, else by its
// name. false: it is nobody's, or being deleted.
func (p *Cluster) Project(ctx context.Context, namespace string) (core.ProjectID, bool, error) {
	if err := p.Sync(ctx); err != nil {
		return "", false, err
	}
	project, ok := p.Namespaces.ProjectOf(namespace)
	return project, ok, nil
}

// enforced is the label by which a namespace enforces a Pod Security Standard.
const enforced = "pod-security.kubernetes.io/enforce"

// EnsureNamespace makes the namespace where it is missing.
func (p *Cluster) EnsureNamespace(ctx context.Context, name string, project core.ProjectID) error {
	alive, known, whose, marked := p.Namespaces.State(name)
	switch {
	case known && !alive:
		return apicall.Refuse(podstatus.ReasonSystem, "namespace %s is being deleted; once it is gone it is made again", name)
	case marked && whose != project:
		return apicall.Refuse(podstatus.ReasonSystem, "namespace %s, in which the pods of project %s would be, is that of project %s by its label %s: give %s another namespace with that label", name, project, whose, naming.LabelProject, project)
	case known:
		return errors.Join(p.isolate(ctx, name), p.bound(ctx, name, project))
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{naming.LabelManaged: naming.Managed, naming.LabelProject: string(project)}}}
	if p.Options.PodSecurity != "" { // with its creation: there is no moment in which it is not enforced
		ns.Labels[enforced] = p.Options.PodSecurity
	}
	made, err := p.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	switch {
	case err == nil:
		p.isolated.Delete(name) // of one of that name that is gone
		p.bounded.Delete(name)
		p.Namespaces.Made(made)
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return errors.Join(p.isolate(ctx, name), p.bound(ctx, name, project))
}

// isolated is the network policy of a namespace that was made for a project.
const isolated = "muster-project"

// isolate has the pods of a namespace that was made for a project take connections
// from their own namespace alone. It comes before the first of them, once for as long
// as this process knows of it: who removes it has a reason, which holds until the server
// starts anew. What others have made stays as they made it.
func (p *Cluster) isolate(ctx context.Context, name string) error {
	if !p.Options.IsolateNetwork || p.Namespaces.Labels(name)[naming.LabelManaged] != naming.Managed {
		return nil
	}
	if _, done := p.isolated.Load(name); done {
		return nil
	}
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: isolated, Labels: map[string]string{naming.LabelManaged: naming.Managed}},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
		},
	}
	if _, err := p.Client.NetworkingV1().NetworkPolicies(name).Create(ctx, policy, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("network policy of namespace %s: %w", name, err)
	}
	p.isolated.Store(name, true)
	return nil
}
