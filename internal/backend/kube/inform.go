package kube

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
)

// inform connects what the cluster tells to those who remember it.
func (p *Backend) inform() error {
	api := p.Client.CoreV1()
	pods := &cluster.Source{Name: "pods", Probe: func(ctx context.Context, one metav1.ListOptions) error {
		_, err := api.Pods("").List(ctx, one)
		return err
	}}
	if err := cluster.Handle(p.Cluster, pods, p.Factory.Core().V1().Pods().Informer(), cluster.TrimPod, p.pods.Seen, p.pods.Gone); err != nil {
		return err
	}
	nodes := &cluster.Source{Name: "nodes", Probe: func(ctx context.Context, one metav1.ListOptions) error {
		_, err := api.Nodes().List(ctx, one)
		return err
	}}
	err := cluster.Handle(p.Cluster, nodes, p.Factory.Core().V1().Nodes().Informer(), cluster.TrimNode,
		func(n *corev1.Node, _ bool) { p.pods.Groups.Requeue(p.NodeInfo.Seen(n)) }, func(n *corev1.Node, _ bool) {
			p.pods.Groups.Requeue(p.NodeInfo.Gone(n.Name))
			p.pods.Fractions.NodeGone(n.Name)
		})
	if err != nil {
		return err
	}
	spaces := &cluster.Source{Name: "namespaces", Probe: func(ctx context.Context, one metav1.ListOptions) error {
		_, err := api.Namespaces().List(ctx, one)
		return err
	}}
	return cluster.Handle(p.Cluster, spaces, p.Factory.Core().V1().Namespaces().Informer(), cluster.TrimNamespace,
		func(n *corev1.Namespace, _ bool) {
			before := p.Namespaces.Labels(n.Name)
			p.pods.Groups.Again(p.Namespaces.Seen(n))
			if !maps.Equal(before, p.Namespaces.Labels(n.Name)) { // affinity may be to namespaces by their labels
				p.pods.Groups.Requeue(affinity.AffectsAll)
			}
		},
		func(n *corev1.Namespace, _ bool) { p.pods.Groups.Again(p.Namespaces.Gone(n.Name)) })
}
