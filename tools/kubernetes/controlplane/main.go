// Command kube is a Kubernetes control plane and its nodes in one file, for
// tests: every component under its own name as first argument, with upstream's
// flags, and beside them
//
//	kube up             a control plane: certificates, and one process per component
//	kube node           a machine of that control plane: containerd, kubelet, device plugin
//	kube device-plugin  GPUs that are none
//	kube claim-driver   GPUs that are none, had by resource claims
//
// Each component is a process of its own because their commands cannot share
// one: kube-scheduler's installs the signal handler a second time and panics.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // version metric
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// own are the faces that are ours; each gets what follows its name.
var own = map[string]func(args []string) error{
	"up":            runUp,
	"node":          runNode,
	insideNode:      runInside,
	"device-plugin": runDevicePlugin,
	"claim-driver":  runClaimDriver,
	"etcd":          runEtcd,
}

// upstream are the components as they are.
var upstream = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func init() {
	// Children are told to die with the thread that started them. The main
	// goroutine starts them all, so that thread must be the one that never ends.
	runtime.LockOSThread()
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: kube up|node|device-plugin|claim-driver|etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kubectl FLAGS")
		os.Exit(2)
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...) // components read os.Args[1:]
	if run, ok := own[name]; ok {
		if err := run(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "kube %s: %v\n", name, err)
			os.Exit(1)
		}
		return
	}
	if name == "kubectl" {
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err) // prints it and exits
		}
		return
	}
	command, ok := upstream[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "kube: there is no component %q; without arguments it lists them\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
