package fraction

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
)

// kick has a slot looked at. The lock is held.
func (s *Fractions) kick(at Slot) {
	h := s.Slots[at]
	if h == nil {
		return
	}
	h.changed()
	if !h.working {
		h.working = true
		s.p.Running.Go(func() { s.work(s.p.Context, at) })
	}
}

// work does what a slot needs until it needs nothing. One at a time for each
// slot.
func (s *Fractions) work(ctx context.Context, at Slot) {
	// Before all pods have been seen nobody knows who uses what.
	if s.p.AwaitSeen(ctx) != nil {
		return
	}
	for tries := 0; ctx.Err() == nil; {
		next, vain, more := s.next(at)
		if !more {
			return
		}
		err := s.carry(ctx, at, next)
		if tries++; err == nil {
			tries = 0
		} else {
			s.p.Limiter.Warn("a GPU could not be reserved, or given back; trying again", "node", at.Node, "device", at.Index, "err", err)
		}
		if n := max(tries, vain); n > 0 {
			s.idle(ctx, at, min(apicall.FirstPause<<min(n-1, 16), apicall.LongestPause))
		}
	}
}

// idle waits, unless nobody has anything of the slot any more.
func (s *Fractions) idle(ctx context.Context, at Slot, pause time.Duration) {
	over := time.After(pause)
	for {
		s.Mu.Lock()
		h := s.slot(at)
		wake, unused := h.wake, len(h.users) == 0
		s.Mu.Unlock()
		if unused {
			over = time.After(min(pause, apicall.FirstPause))
			wake = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-over:
			return
		}
	}
}

// next decides about a slot. vain: so often in a row there was no device for
// it. more: there is something to do.
func (s *Fractions) next(at Slot) (next step, vain int, more bool) {
	node := s.p.NodeInfo.Find(at.Node)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	h := s.slot(at)
	most := 1
	if node != nil {
		most = len(resources.Devices(node))
	}
	next = decide(len(h.users) > 0 && node != nil, h.wanted(), h.all(), most)
	if node == nil && len(h.users) > 0 {
		next.err = fmt.Errorf("node %s is not in the cluster any more", at.Node)
	}
	if next.lost {
		s.p.Options.Log.Warn("a GPU that tasks share was given to others, since its reservation was deleted: for new tasks there is another", "backend", s.p.Options.Name, "node", at.Node, "device", at.Index)
		for _, u := range h.users {
			h.lost[u.gpu] = true
		}
	}
	switch {
	case len(h.users) == 0:
		h.err, h.tries, h.lost = nil, 0, map[string]bool{}
	case next.err != nil:
		h.err = next.err
		h.tries++
	case next.gpu != "":
		h.err, h.tries = nil, 0
	}
	if h.gpu != next.gpu || next.err != nil {
		h.gpu = next.gpu
		h.changed()
	}
	if next.make < 0 && len(next.drop) == 0 && next.err == nil && !unnoted(h.all()) {
		h.working = false
		s.tidy(at)
		return step{}, 0, false
	}
	if next.err == nil {
		return next, 0, true
	}
	return next, h.tries, true
}

// fail says why there is no device for a slot, to those who wait for one.
func (s *Fractions) fail(at Slot, err error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	h := s.slot(at)
	h.err = err
	h.changed()
}

// carry does what was decided about a slot.
func (s *Fractions) carry(ctx context.Context, at Slot, next step) error {
	for _, r := range next.drop {
		if err := s.drop(ctx, at, r); err != nil {
			return err
		}
	}
	if err := s.note(ctx, at); err != nil {
		return err
	}
	if next.make < 0 {
		return nil
	}
	err := s.create(ctx, at, next.make)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		s.fail(at, fmt.Errorf("the cluster refuses reservation pod %s/%s: %w", naming.Reservations, s.reservationName(at, next.make), err))
	}
	return err
}

// create makes a reservation, and their namespace where it is missing.
func (s *Fractions) create(ctx context.Context, at Slot, number int) error {
	pods := s.p.Client.CoreV1().Pods(naming.Reservations)
	want := s.ReservationPod(at, number)
	pod, err := pods.Create(ctx, want, metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: naming.Reservations, Labels: map[string]string{naming.LabelManaged: naming.Managed}}}
		if _, err := s.p.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return s.create(ctx, at, number)
	case apierrors.IsAlreadyExists(err):
		if pod, err = pods.Get(ctx, want.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if is, ok := s.labelled(pod); !ok || is != at {
			err = fmt.Errorf("a pod that is not ours has the name of reservation pod %s/%s: delete it", naming.Reservations, want.Name)
			s.fail(at, err)
			return err
		}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "serviceaccount"):
		return errors.New(err.Error()) // the account of a new namespace takes a moment
	case err != nil:
		return err
	}
	s.takeOver(pod, false)
	return nil
}

// drop deletes a reservation. Of a node that is gone, nobody would say that it
// has ended.
func (s *Fractions) drop(ctx context.Context, at Slot, r reservation) error {
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.uid}}
	if s.p.NodeInfo.Find(at.Node) == nil {
		now := int64(0)
		o.GracePeriodSeconds = &now
	}
	err := s.p.Client.CoreV1().Pods(naming.Reservations).Delete(ctx, r.name, o)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || err == nil && o.GracePeriodSeconds != nil {
		s.lose(r.uid)
		return nil
	}
	if err != nil {
		return err
	}
	s.mark(at, r.uid, func(r *reservation) { r.state = leaving })
	return nil
}

// note writes down on the reservations of a slot what they hold.
func (s *Fractions) note(ctx context.Context, at Slot) error {
	s.Mu.Lock()
	all := s.slot(at).all()
	s.Mu.Unlock()
	for _, r := range all {
		if r.state != holding || r.noted {
			continue
		}
		err := s.annotate(ctx, &r)
		switch {
		case apierrors.IsForbidden(err):
			s.p.Options.Log.Warn("what a reservation holds could not be written down on it; it is lost if its node tidies up", "backend", s.p.Options.Name, "pod", r.name, "err", err)
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			// It is gone, or another has its name: its informer will say so.
		case err != nil:
			return err
		}
		s.mark(at, r.uid, func(r *reservation) { r.noted = true })
	}
	return nil
}

// mark changes what is known of a reservation before the cluster says so.
func (s *Fractions) mark(at Slot, pod types.UID, change func(*reservation)) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	h := s.slot(at)
	if r, ok := h.pods[pod]; ok {
		change(&r)
		h.pods[pod] = r
	}
}

// unnoted reports whether some reservation has yet to say in the cluster what
// it holds.
func unnoted(all []reservation) bool {
	for _, r := range all {
		if r.state == holding && !r.noted {
			return true
		}
	}
	return false
}
