// Package operator shows workloads in a Kubernetes cluster as objects of a
// custom resource, with status, conditions and Events, and takes objects that
// others apply there for submissions. It is a client of the server like any
// other: what an object asks for goes through the API, and what it shows comes
// from there.
//
// It never holds up the cluster: objects have no finalizers, writes are few
// however much happens, and without the face all goes on. An object that is
// deleted while nobody looks is missed at the next start.
package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/operator/admission"
)

// Spaces knows which namespace is whose project.
type Spaces interface {
	// Namespace is that of a project, made where it is missing.
	Namespace(ctx context.Context, project core.ProjectID) (string, error)
	// Project is whose a namespace is; false: nobody's.
	Project(ctx context.Context, namespace string) (core.ProjectID, bool, error)
}

// Config is what a Face needs.
type Config struct {
	Cluster *rest.Config
	Spaces  Spaces
	Muster  *client.Client
	Log     *slog.Logger
	// As is a client with the rights of whom the API server calls so. With it what people
	// apply is theirs, by what their objects say of their author (admission.NoteAuthor);
	// nil: it is Muster's.
	As admission.As
	// Keep is how long an object that we made stays after the end of its
	// workload; 0: a day. Applied ones stay until someone deletes them.
	Keep time.Duration
}

// perSecond bounds the requests to the cluster in the long run; twice as many may
// come at once.
const perSecond = 50

// Operator is the custom resource of one cluster.
type Operator struct {
	c       Config
	cluster dynamic.Interface
	core    kubernetes.Interface
}

// New returns a face of a cluster, which need not be in reach yet.
func New(c Config) (*Operator, error) {
	if c.Keep == 0 {
		c.Keep = 24 * time.Hour
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	config := rest.CopyConfig(c.Cluster)
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(perSecond, 2*perSecond) // one for both clients
	config.UserAgent = manager
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	f := &Operator{c: c}
	var err error
	if f.cluster, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("the custom resource: %w", err)
	}
	if f.core, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("the custom resource: %w", err)
	}
	return f, nil
}

const (
	// ask is how often a cluster is asked for the resource while it has none.
	ask = 30 * time.Second
	// soon is the pause before a face that broke begins anew.
	soon = time.Second
)

// Run shows and takes workloads until ctx is done. Where the cluster has no
// such resource it waits for it to come.
func (f *Operator) Run(ctx context.Context) {
	message := ""
	for ctx.Err() == nil {
		uid, err := f.definition(ctx)
		switch {
		case err == nil:
			message = ""
			f.c.Log.Info("workloads are shown as objects of " + crdName)
			f.warnOld(ctx)
			if err = f.serve(ctx, uid); ctx.Err() == nil {
				f.c.Log.Warn("the objects of workloads are read anew", "err", err)
				wait(ctx, soon)
			}
			continue
		case errors.Is(err, errNone):
			err = fmt.Errorf("the cluster has no resource %s: apply deploy/helm/muster/crds to have workloads as objects", crdName)
		}
		if message != err.Error() && ctx.Err() == nil {
			message = err.Error()
			f.c.Log.Info("workloads are not shown in the cluster", "why", message)
		}
		wait(ctx, ask)
	}
}

// errNone says that the cluster does not have the resource, or not for long.
var errNone = errors.New("the resource is not defined")

// definition is the identity of the resource's definition.
func (f *Operator) definition(ctx context.Context) (types.UID, error) {
	d, err := f.cluster.Resource(definitions).Get(ctx, crdName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && d.GetDeletionTimestamp() != nil:
		return "", errNone
	case err != nil:
		return "", fmt.Errorf("definition of %s: %w", crdName, err)
	}
	return d.GetUID(), nil
}

// warnOld says where the definition in force is of an older version: the cluster
// drops what it does not know of an object before anybody sees it.
func (f *Operator) warnOld(ctx context.Context) {
	d, err := f.cluster.Resource(definitions).Get(ctx, crdName, metav1.GetOptions{})
	if err != nil {
		return // whoever asks next says so
	}
	if fields := lacking(d.Object); len(fields) > 0 {
		f.c.Log.Warn("the definition of "+crdName+" in the cluster is of an older version, and objects lose these fields: kubectl apply --server-side -f deploy/helm/muster/crds", "fields", strings.Join(fields, ", "))
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
