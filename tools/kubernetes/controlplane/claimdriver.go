package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// claimDriver offers GPUs that are no hardware, to be had by resource claims.
// What it has prepared for kubelet stands in a folder: a file per claim, named
// by its UID, with the devices, one a line. Containers see nothing of them:
// containerd 1.6 does not know devices that are named so.
type claimDriver struct {
	name, prepared string
}

// runClaimDriver serves until it is killed.
func runClaimDriver(args []string) error {
	flags := pflag.NewFlagSet("claim-driver", pflag.ContinueOnError)
	node := flags.String("node", "", "name of the node")
	driver := flags.String("driver", "", "name of the driver, such as gpu.nvidia.com")
	count := flags.Int("count", 0, "how many devices there are")
	config := flags.String("kubeconfig", "", "of an administrator")
	prepared := flags.String("prepared", "", "folder for what is prepared")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := clientcmd.BuildConfigFromFlags("", *config)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return err
	}
	for _, dir := range []string{*prepared, kubeletplugin.KubeletRegistryDir, filepath.Join(kubeletplugin.KubeletPluginsDir, *driver)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	d := &claimDriver{name: *driver, prepared: *prepared}
	ctx := context.Background()
	h, err := kubeletplugin.Start(ctx, d, kubeletplugin.DriverName(*driver), kubeletplugin.NodeName(*node), kubeletplugin.KubeClient(client))
	if err != nil {
		return err
	}
	devices := make([]resourcev1.Device, *count)
	for i := range devices {
		kind, product, uuid := "gpu", "Fake H200", fmt.Sprintf("GPU-%s-%d", *node, i)
		devices[i] = resourcev1.Device{
			Name:       fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: &kind}, "uuid": {StringValue: &uuid}, "productName": {StringValue: &product}},
			Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("140Gi")}},
		}
	}
	if err := h.PublishResources(ctx, resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{*node: {Slices: []resourceslice.Slice{{Devices: devices}}}}}); err != nil {
		return err
	}
	select {}
}

// PrepareResourceClaims implements the protocol: each claim has the devices that
// its allocation says, unless another has one of them.
func (d *claimDriver) PrepareResourceClaims(_ context.Context, claims []*resourcev1.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	out := map[types.UID]kubeletplugin.PrepareResult{}
	for _, c := range claims {
		out[c.UID] = kubeletplugin.PrepareResult{Err: d.prepare(c)}
	}
	return out, nil
}

func (d *claimDriver) prepare(c *resourcev1.ResourceClaim) error {
	var devices []string
	for _, r := range c.Status.Allocation.Devices.Results {
		if r.Driver == d.name {
			devices = append(devices, r.Device)
		}
	}
	others, err := os.ReadDir(d.prepared)
	if err != nil {
		return err
	}
	for _, o := range others {
		text, err := os.ReadFile(filepath.Join(d.prepared, o.Name()))
		if err != nil {
			return err
		}
		for _, taken := range strings.Fields(string(text)) {
			for _, device := range devices {
				if taken == device && o.Name() != string(c.UID) {
					return fmt.Errorf("device %s is in use by claim %s", device, o.Name())
				}
			}
		}
	}
	return os.WriteFile(filepath.Join(d.prepared, string(c.UID)), []byte(strings.Join(devices, "\n")+"\n"), 0o644)
}

// UnprepareResourceClaims implements the protocol.
func (d *claimDriver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	out := map[types.UID]error{}
	for _, c := range claims {
		out[c.UID] = nil
		if err := os.Remove(filepath.Join(d.prepared, string(c.UID))); err != nil && !os.IsNotExist(err) {
			out[c.UID] = err
		}
	}
	return out, nil
}

// HandleError implements the protocol: what is tried again is only told.
func (d *claimDriver) HandleError(_ context.Context, err error, what string) {
	fmt.Fprintln(os.Stderr, d.name, what, err)
}
