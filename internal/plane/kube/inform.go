package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// inform connects what the cluster tells to those who remember it.
func (p *Plane) inform() error {
	pods := p.factory.Core().V1().Pods().Informer()
	if err := pods.SetTransform(slim); err != nil {
		return err
	}
	if err := handle(p, pods, p.podSeen, p.podGone); err != nil {
		return err
	}
	nodes := p.factory.Core().V1().Nodes().Informer()
	if err := nodes.SetTransform(slimNode); err != nil {
		return err
	}
	err := handle(p, nodes, func(n *corev1.Node, _ bool) { p.cluster.node(n) }, func(n *corev1.Node) {
		p.cluster.nodeGone(n.Name)
		p.parts.nodeGone(n.Name)
	})
	if err != nil {
		return err
	}
	spaces := p.factory.Core().V1().Namespaces().Informer()
	if err := spaces.SetTransform(slimNamespace); err != nil {
		return err
	}
	return handle(p, spaces, func(n *corev1.Namespace, _ bool) { p.spaces.seen(n) }, func(n *corev1.Namespace) { p.spaces.gone(n.Name) })
}

// handle listens to what must have been seen whole before anything is said.
func handle[T any](p *Plane, i cache.SharedIndexInformer, seen func(o *T, first bool), gone func(*T)) error {
	reg, err := listen(i, seen, gone)
	if err == nil {
		p.synced = append(p.synced, reg.HasSynced)
	}
	return err
}

// listen calls seen with what is there or has changed, and gone with the last
// that was known of what is not there any more.
func listen[T any](i cache.SharedIndexInformer, seen func(o *T, first bool), gone func(*T)) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { seen(o.(*T), initial) },
		UpdateFunc: func(_, o any) { seen(o.(*T), false) },
		DeleteFunc: func(o any) {
			if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			if t, ok := o.(*T); ok {
				gone(t)
			}
		},
	})
}
