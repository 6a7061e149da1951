package main

import (
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"
)

// clusterConfig opens a kubeconfig; without one, the cluster that this runs in,
// or the one that kubectl would talk to. latest is the configuration with the
// credentials that the file has at the time; requests that are made with config
// have them by themselves.
func clusterConfig(file, name string, log *slog.Logger) (config *rest.Config, latest func() *rest.Config, err error) {
	if file == "" {
		config, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return config, func() *rest.Config { return config }, err // its token is read anew by itself
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	k := &kubeconfig{log: log, open: func() clientcmd.ClientConfig {
		return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
	}}
	from := k.open()
	if k.config, err = from.ClientConfig(); err != nil {
		return nil, nil, err
	}
	if k.raw, err = from.RawConfig(); err != nil {
		return nil, nil, err
	}
	k.read = time.Now()
	config = rest.CopyConfig(k.config)
	config.Wrap(func(first http.RoundTripper) http.RoundTripper { return &renewed{k: k, first: first} })
	return config, k.latest, nil
}

// readEvery is how often a kubeconfig is read again, and readSoon when the API
// server refuses what it said.
const readEvery, readSoon = 15 * time.Second, time.Second

// kubeconfig is a file whose credentials somebody may renew.
type kubeconfig struct {
	open func() clientcmd.ClientConfig
	log  *slog.Logger

	mu     sync.Mutex
	raw    clientapi.Config
	config *rest.Config
	read   time.Time
	next   http.RoundTripper // with what the file says now; nil: as in the beginning
}

func (k *kubeconfig) latest() *rest.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look(readSoon)
	return k.config
}

// transport is the one with the latest credentials; nil: those of the beginning
// still are. It is not older than maxAge.
func (k *kubeconfig) transport(maxAge time.Duration) http.RoundTripper {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look(maxAge)
	return k.next
}

// look reads the file again. What cannot be used, such as half a file, is passed
// over. The lock is held.
func (k *kubeconfig) look(maxAge time.Duration) {
	if time.Since(k.read) < maxAge {
		return
	}
	k.read = time.Now()
	from := k.open()
	raw, err := from.RawConfig()
	if err == nil && reflect.DeepEqual(raw, k.raw) {
		return
	}
	var config *rest.Config
	if err == nil {
		config, err = from.ClientConfig()
	}
	var next http.RoundTripper
	if err == nil {
		next, err = rest.TransportFor(config)
	}
	if err != nil {
		k.log.Warn("a kubeconfig that has changed cannot be used; what it said before is used on", "err", err)
		return
	}
	k.raw, k.config, k.next = raw, config, next
}

// renewed sends requests with the latest credentials of a kubeconfig.
type renewed struct {
	k     *kubeconfig
	first http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r *renewed) RoundTrip(req *http.Request) (*http.Response, error) {
	by := r.k.transport(readEvery)
	resp, err := r.send(by, req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	now := r.k.transport(readSoon)
	if now == by {
		return resp, nil
	}
	_ = resp.Body.Close()
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return r.send(now, again)
}

func (r *renewed) send(by http.RoundTripper, req *http.Request) (*http.Response, error) {
	if by == nil {
		return r.first.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Del("Authorization") // of the beginning
	return by.RoundTrip(req)
}
