package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// dnsDomain is what the names of services end with; kubelets are told it too.
const dnsDomain = "cluster.local"

// dns answers for the names of services as a cluster's own server does
// (github.com/kubernetes/dns, docs/specification.md): a service that has an
// address has that, a headless one those of its pods, each of which has its
// host name below it. Pods are chosen here, not read from EndpointSlices, which
// a cluster without controllers lacks. Nobody else's names are known.
type dns struct {
	services corelisters.ServiceLister
	pods     corelisters.PodLister
}

// dnsAnswers bounds the addresses in an answer, which is to fit 512 bytes.
const dnsAnswers = 20

// resolve starts the rack's DNS server. Twice is once.
func (p *controlPlane) resolve() error {
	p.dns.Do(func() { p.dnsErr = p.startDNS() })
	return p.dnsErr
}

func (p *controlPlane) startDNS() error {
	config, err := clientcmd.BuildConfigFromFlags("", p.in("admin.kubeconfig"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var c net.PacketConn
	if err := p.rack.inside(func() (err error) {
		c, err = net.ListenPacket("udp4", net.JoinHostPort(rackAddress, "53"))
		return err
	}); err != nil {
		return fmt.Errorf("listen for DNS: %w", err)
	}
	f := informers.NewSharedInformerFactory(client, 0)
	d := &dns{services: f.Core().V1().Services().Lister(), pods: f.Core().V1().Pods().Lister()}
	f.Start(context.Background().Done())
	go func() {
		// Who asks before is not told that there is no such name: the question
		// stays in the socket's buffer.
		f.WaitForCacheSync(context.Background().Done())
		d.serve(c)
	}()
	return nil
}

func (d *dns) serve(c net.PacketConn) {
	buffer := make([]byte, 4096)
	for {
		n, from, err := c.ReadFrom(buffer)
		if err != nil {
			return
		}
		if out, err := d.answer(buffer[:n]); err == nil {
			c.WriteTo(out, from) // who does not get it asks again
		}
	}
}

// answer makes the answer to a message; an error where it is none to answer.
func (d *dns) answer(in []byte) ([]byte, error) {
	var p dnsmessage.Parser
	head, err := p.Start(in)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	addresses, known := d.find(strings.ToLower(q.Name.String()))
	out := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	if !known {
		out.RCode = dnsmessage.RCodeNameError
	}
	if q.Type != dnsmessage.TypeA {
		addresses = nil
	}
	for _, a := range addresses[:min(len(addresses), dnsAnswers)] {
		out.Answers = append(out.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 0},
			Body:   &dnsmessage.AResource{A: a},
		})
	}
	return out.Pack()
}

// find is what a name has: SERVICE.NAMESPACE.svc.cluster.local., with a pod's
// host name before it or not. Known names may have no address.
func (d *dns) find(name string) (addresses [][4]byte, known bool) {
	rest, ok := strings.CutSuffix(name, ".svc."+dnsDomain+".")
	if !ok {
		return nil, false
	}
	parts := strings.Split(rest, ".")
	host := ""
	if len(parts) == 3 {
		host, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 {
		return nil, false
	}
	s, err := d.services.Services(parts[1]).Get(parts[0])
	if err != nil {
		return nil, false
	}
	if s.Spec.ClusterIP != corev1.ClusterIPNone {
		return addressesOf(s.Spec.ClusterIP), host == ""
	}
	if len(s.Spec.Selector) == 0 {
		return nil, host == ""
	}
	pods, err := d.pods.Pods(s.Namespace).List(labels.SelectorFromSet(s.Spec.Selector))
	if err != nil {
		return nil, false
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	known = host == ""
	for _, pod := range pods {
		if ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed; ended || !s.Spec.PublishNotReadyAddresses && !podReady(pod) {
			continue
		}
		if host != "" && (pod.Spec.Hostname != host || pod.Spec.Subdomain != s.Name) {
			continue
		}
		if a := addressesOf(pod.Status.PodIP); len(a) > 0 {
			addresses, known = append(addresses, a...), true
		}
	}
	return addresses, known
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func addressesOf(text string) [][4]byte {
	if ip := net.ParseIP(text).To4(); ip != nil {
		return [][4]byte{[4]byte(ip)}
	}
	return nil
}
