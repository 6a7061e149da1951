package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
)

// A cluster is driven by one installation, whose ID a lease there holds: another
// server, which knows nothing of its workloads, would end all of their pods. What
// an installation makes bears its ID, and what bears another's is not touched,
// whoever drives.

// Lease is the name of the record, in namespace Reservations, of which
// installation drives the cluster.
const Lease = "muster-installation"

const (
	noteServer = "muster.dev/server" // of the lease: the host that wrote it
	// noteUnmarked says on the lease that what bears no ID, since it was made by a
	// server that knew of none, is the holder's.
	noteUnmarked = "muster.dev/unmarked"
)

// Register knows to which clusters several backends lead, so that none of them is
// driven under two names.
type Register struct {
	mu    sync.Mutex
	order []string
	uids  map[string]types.UID
}

func (r *Register) enter(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = append(r.order, name)
}

// before is the backend that was opened before this one and leads to the same
// cluster; empty: none.
func (r *Register) before(name string, uid types.UID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uids == nil {
		r.uids = map[string]types.UID{}
	}
	r.uids[name] = uid
	for _, other := range r.order {
		if other == name {
			break
		}
		if r.uids[other] == uid {
			return other
		}
	}
	return ""
}

// driver is what is known of who drives the cluster.
type driver struct {
	asking sync.Mutex // held while the cluster is asked
	uid    types.UID  // of the cluster
	taken  bool       // it was taken over, which is done once

	mu     sync.Mutex
	err    error     // why it is not ours to drive
	read   time.Time // when that was last learnt
	begun  bool      // it was ours at some time, and is watched since
	over   bool      // the backend is closed
	adopts bool      // what bears no ID is ours too
	begin  func()    // watches the cluster
}

// believed is for how long it is believed that the cluster is ours to drive.
const believed = 5 * time.Second

// Mine reports whether what has these marks was made by this installation.
func (p *Cluster) Mine(marks map[string]string) bool {
	id := marks[naming.LabelInstallation]
	if id != "" || p.Options.Installation == "" {
		return id == p.Options.Installation
	}
	p.driver.mu.Lock()
	defer p.driver.mu.Unlock()
	return p.driver.adopts
}

// Marked adds the ID of the installation to marks.
func (p *Cluster) Marked(marks map[string]string) map[string]string {
	if p.Options.Installation != "" {
		marks[naming.LabelInstallation] = p.Options.Installation
	}
	return marks
}

// Drives reports whether the cluster is ours to drive, as last learnt.
func (p *Cluster) Drives() bool {
	p.driver.mu.Lock()
	defer p.driver.mu.Unlock()
	return p.driver.begun && p.driver.err == nil
}

// WhileDriving calls do whenever the cluster is ours to drive, and ends it when
// it is not any more, until ctx is done.
func (p *Cluster) WhileDriving(ctx context.Context, do func(context.Context)) {
	tick := time.NewTicker(believed)
	defer tick.Stop()
	var end func()
	for {
		switch ours := p.Drives(); {
		case ours && end == nil:
			within, cancel := context.WithCancel(ctx)
			over := make(chan struct{})
			go func() { defer close(over); do(within) }()
			end = func() { cancel(); <-over }
		case !ours && end != nil:
			end()
			end = nil
		}
		select {
		case <-ctx.Done():
			if end != nil {
				end()
			}
			return
		case <-tick.C:
		}
	}
}

// CheckDriving fails where the cluster is not ours to drive; once it is, it is watched.
// maxAge is how old that knowledge may be.
func (p *Cluster) CheckDriving(ctx context.Context, maxAge time.Duration) error {
	d := &p.driver
	d.asking.Lock()
	defer d.asking.Unlock()
	d.mu.Lock()
	known := d.begun && d.err == nil && (p.Options.Installation == "" && p.Options.Register == nil || p.Options.Clock().Sub(d.read) < maxAge)
	d.mu.Unlock()
	if known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	adopts, err := p.askDriver(ctx)
	if err != nil {
		err = fmt.Errorf("cluster %s: %w: %w", p.Options.Name, backend.ErrUnreachable, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.read = err, p.Options.Clock()
	if err == nil && !d.begun && !d.over {
		d.begun, d.adopts = true, adopts
		d.begin()
	}
	return err
}

// askDriver looks who drives the cluster, and makes that us where nobody does.
// adopts: what bears no ID is ours.
func (p *Cluster) askDriver(ctx context.Context) (adopts bool, err error) {
	d := &p.driver
	if p.Options.Register != nil {
		if d.uid == "" {
			n, err := p.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
			if err != nil {
				return false, fmt.Errorf("which cluster it is cannot be learnt: %w", err)
			}
			d.uid = n.UID
		}
		if other := p.Options.Register.before(p.Options.Name, d.uid); other != "" {
			return false, fmt.Errorf("it is cluster %s under another name: leave one of the two out", other)
		}
	}
	if p.Options.Installation == "" {
		return true, nil
	}
	l, err := p.Client.CoordinationV1().Leases(naming.Reservations).Get(ctx, Lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		l, err = p.record(ctx)
	}
	if err == nil && holderOf(l) != p.Options.Installation && p.Options.TakeOver && !d.taken {
		l, err = p.takeOver(ctx, l)
	}
	if err != nil {
		return false, fmt.Errorf("which server drives it cannot be learnt: %w", err)
	}
	if id := holderOf(l); id != p.Options.Installation {
		since := l.CreationTimestamp.Time
		if l.Spec.AcquireTime != nil {
			since = l.Spec.AcquireTime.Time
		}
		return false, fmt.Errorf("it is driven by another server (installation %s, of host %s, since %s), whose work it would end: if that is gone for good, begin with muster server --take-over %s, or delete lease %s/%s",
			id, cmp.Or(l.Annotations[noteServer], "unknown"), since.UTC().Format(time.RFC3339), p.Options.Name, naming.Reservations, Lease)
	}
	d.taken = true // from now on whoever takes it over means it
	return l.Annotations[noteUnmarked] != "", nil
}

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// record makes this installation the one that drives the cluster.
func (p *Cluster) record(ctx context.Context) (*coordinationv1.Lease, error) {
	leases := p.Client.CoordinationV1().Leases(naming.Reservations)
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: Lease, Namespace: naming.Reservations, Labels: map[string]string{naming.LabelManaged: naming.Managed}}}
	p.claimLease(l)
	if p.Options.Seasoned {
		l.Annotations[noteUnmarked] = "ours"
	}
	made, err := leases.Create(ctx, l, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: naming.Reservations, Labels: map[string]string{naming.LabelManaged: naming.Managed}}}
		if _, err := p.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		made, err = leases.Create(ctx, l, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) { // another was faster
		return leases.Get(ctx, Lease, metav1.GetOptions{})
	}
	return made, err
}

// takeOver makes this installation the one that drives the cluster in the place of
// another. What that has made stays as it is.
func (p *Cluster) takeOver(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	from := holderOf(l)
	p.claimLease(l)
	delete(l.Annotations, noteUnmarked)
	l, err := p.Client.CoordinationV1().Leases(naming.Reservations).Update(ctx, l, metav1.UpdateOptions{}) // fails where it has changed since
	if err == nil {
		p.Options.Log.Warn("the cluster was taken over from another server; the pods of that go on and are only counted", "backend", p.Options.Name, "from", from)
	}
	return l, err
}

// claimLease writes on a lease that it is ours.
func (p *Cluster) claimLease(l *coordinationv1.Lease) {
	now, id := metav1.NowMicro(), p.Options.Installation
	l.Spec.HolderIdentity, l.Spec.AcquireTime = &id, &now
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	if host, err := os.Hostname(); err == nil {
		l.Annotations[noteServer] = host
	}
}
