package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/operator"
	"github.com/musterhq/muster/internal/operator/admission"
	"github.com/musterhq/muster/internal/server"
)

// inCluster makes clients with the rights of whom the API server of a cluster names.
func inCluster(o cli.KubeAdmission, srv *server.Server) admission.As {
	return func(name string) (*client.Client, string, error) {
		if !strings.HasPrefix(name, rbac.ClusterAccount+":") {
			here, ok := strings.CutPrefix(name, o.Prefix)
			if !ok || here == "" {
				return nil, "", &api.Problem{
					Status: http.StatusForbidden, Code: "forbidden", Detail: fmt.Sprintf("the cluster's user %q is nobody here: names of people begin with %q", name, o.Prefix),
					Hint: "use a service account, or have the server started with another --kube-user-prefix",
				}
			}
			name = here
		}
		c, err := client.New(client.Options{Address: "http://muster", UserAgent: "muster-kubeface", Transport: srv.OnBehalf(name)})
		return c, name, err
	}
}

// admitted answers the API server, before an object is written, whose it is.
func admitted(o cli.KubeAdmission, conf operator.Config, log *slog.Logger) (func(context.Context), error) {
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, precondition("--kube-admission "+o.Listen+": "+err.Error(), "write HOST:PORT like :8443, where nothing else listens")
	}
	s, err := admission.New(admission.Config{Cluster: conf.Cluster, Name: o.Name, Listen: l, Muster: conf.Muster, As: conf.As, Log: log})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s.Run, nil
}
