package main

import (
	"slices"
	"strings"
)

// serverFlags is the command of the API server.
func (p *controlPlane) serverFlags() ([]string, error) {
	flags := []string{p.self, "kube-apiserver",
		"--etcd-servers=http://" + p.at(etcdPort),
		"--bind-address=" + p.host, "--advertise-address=" + p.host, "--secure-port=" + serverPort,
		"--tls-cert-file=" + p.in("apiserver.crt"), "--tls-private-key-file=" + p.in("apiserver.key"),
		"--client-ca-file=" + p.in("ca.crt"),
		"--kubelet-client-certificate=" + p.in("kubelet-client.crt"), "--kubelet-client-key=" + p.in("kubelet-client.key"),
		"--kubelet-certificate-authority=" + p.in("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.in("accounts.pub"), "--service-account-signing-key-file=" + p.in("accounts.key"),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true", "--endpoint-reconciler-type=none",
		// Tests ask more at once than people do.
		"--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000",
		"--shutdown-delay-duration=0s", "--profiling=false",
	}
	if p.options.noControllers {
		// Nobody would make the service accounts that pods are asked for, nor
		// take away the taint that each new node begins with.
		flags = append(flags, "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
	}
	if p.rack != nil {
		path, err := egress(p.dir)
		if err != nil {
			return nil, err
		}
		flags = append(flags, "--egress-selector-config-file="+path)
	}
	return append(flags, p.options.server...), nil
}

// startOthers starts the controllers and the scheduler.
func (p *controlPlane) startOthers() error {
	if !p.options.noControllers {
		flags := []string{
			"--use-service-account-credentials=true", "--service-account-private-key-file=" + p.in("accounts.key"),
			"--root-ca-file=" + p.in("ca.crt"),
			"--cluster-signing-cert-file=" + p.in("ca.crt"), "--cluster-signing-key-file=" + p.in("ca.key"),
		}
		if err := p.startClient("kube-controller-manager", "controllers", controllerPort, slices.Concat(flags, p.options.controllers)); err != nil {
			return err
		}
	}
	if p.options.noScheduler {
		return nil
	}
	return p.startClient("kube-scheduler", "scheduler", schedulerPort, p.options.schedule)
}

// startClient starts a component that works through the API server.
func (p *controlPlane) startClient(component, identity, port string, flags []string) error {
	config := p.in(identity + ".kubeconfig")
	return p.keeper.start(component, append([]string{p.self, component,
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=" + p.host, "--secure-port=" + port, "--cert-dir=" + p.in(strings.TrimPrefix(component, "kube-")),
		"--leader-elect=false",
		"--kube-api-qps=500", "--kube-api-burst=1000",
	}, flags...)...)
}
