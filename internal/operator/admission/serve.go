package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/client"
)

// Config is what a Server needs.
type Config struct {
	Cluster *rest.Config
	// Name is that of the MutatingWebhookConfiguration that has the API server ask here:
	// whoever installs makes it, and the server writes whom to believe into it.
	Name   string
	Listen net.Listener
	Muster *client.Client // sees every workload
	As     As
	Log    *slog.Logger
}

const (
	// lookEvery is how often it is looked at whether the API server still knows whom to
	// believe, and soon how often while that fails.
	lookEvery = 30 * time.Second
	soon      = time.Second
)

// Server is asked by an API server.
type Server struct {
	c       Config
	cluster kubernetes.Interface
	shown   atomic.Pointer[shown]
}

// shown is the certificate by which the server is known.
type shown struct {
	host  string
	cert  *tls.Certificate
	text  []byte // PEM
	renew time.Time
}

// New returns a server, which begins with Run.
func New(c Config) (*Server, error) {
	k, err := kubernetes.NewForConfig(c.Cluster)
	if err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	return &Server{c: c, cluster: k}, nil
}

// Run answers until ctx is done, and keeps telling the API server whom to believe.
func (s *Server) Run(ctx context.Context) {
	hs := &http.Server{Handler: Handler(s.c.Muster, s.c.As, s.c.Log), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(s.c.Log.Handler(), slog.LevelDebug)}
	l := tls.NewListener(s.c.Listen, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if now := s.shown.Load(); now != nil {
			return now.cert, nil
		}
		return nil, errors.New("there is no certificate yet")
	}})
	go func() {
		if err := hs.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.c.Log.Error("the API server is not answered any more", "err", err)
		}
	}()
	defer hs.Close()
	former := ""
	for {
		pause := lookEvery
		switch err := s.introduce(ctx, time.Now()); {
		case err == nil:
			former = ""
		case ctx.Err() == nil:
			pause = soon
			if err.Error() != former {
				former = err.Error()
				s.c.Log.Warn("the API server does not know by what to know this server: objects that people make are refused until it does", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// introduce has the API server believe the certificate that is shown, a new one where it
// is time.
func (s *Server) introduce(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	configurations := s.cluster.AdmissionregistrationV1().MutatingWebhookConfigurations()
	conf, err := configurations.Get(ctx, s.c.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	host, err := hostOf(conf)
	if err != nil {
		return err
	}
	was := s.shown.Load()
	next := was
	if was == nil || was.host != host || !now.Before(was.renew) {
		next = &shown{host: host, renew: now.Add(certificateFor / 2)}
		if next.cert, next.text, err = selfSigned(host, now); err != nil {
			return err
		}
	}
	bundle := next.text
	if was != nil && was != next && was.host == host { // it is shown until all know the new one
		bundle = append(bytes.Clone(bundle), was.text...)
	}
	changed := false
	for i := range conf.Webhooks {
		if has := &conf.Webhooks[i].ClientConfig.CABundle; !bytes.HasPrefix(*has, next.text) {
			*has, changed = bundle, true
		}
	}
	if changed {
		if _, err := configurations.Update(ctx, conf, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	s.shown.Store(next)
	return nil
}

// hostOf is by what name the API server calls this server.
func hostOf(conf *admissionregistration.MutatingWebhookConfiguration) (string, error) {
	if len(conf.Webhooks) == 0 {
		return "", fmt.Errorf("MutatingWebhookConfiguration %s has no webhooks", conf.Name)
	}
	c := conf.Webhooks[0].ClientConfig
	if c.Service != nil {
		return c.Service.Name + "." + c.Service.Namespace + ".svc", nil
	}
	if c.URL == nil {
		return "", fmt.Errorf("MutatingWebhookConfiguration %s names neither a service nor a URL", conf.Name)
	}
	u, err := url.Parse(*c.URL)
	if err != nil {
		return "", fmt.Errorf("MutatingWebhookConfiguration %s: %w", conf.Name, err)
	}
	return u.Hostname(), nil
}
