package main

// networkConfig joins all pods of all nodes of a cluster, who share a network,
// by one bridge.
const networkConfig = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]}
}]}
`

// containerdConfig wants the socket, the pause image, the folder of network
// plugins and the folder of their configuration. It makes no use of abilities
// that a test machine's root may lack: lower OOM scores take CAP_SYS_RESOURCE.
const containerdConfig = `version = 2
oom_score = 0
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
]
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`

// kubeletConfig wants the node's address, the cluster's authority, certificate
// and key, containerd's socket, the control group, two times in seconds, how
// long the node's lease is and how often it reports, and the DNS server with its
// domain.
//
// There is no kube-proxy, so kubelet touches no iptables; a container that
// crashes is started again after 5 s at the latest, so that tests see it, and
// logs are not rotated, at which kubelet lets those who follow miss lines.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]q
port: 10250
healthzPort: 0
readOnlyPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %[2]q}}
authorization: {mode: Webhook}
tlsCertFile: %[3]q
tlsPrivateKeyFile: %[4]q
containerRuntimeEndpoint: "unix://%[5]s"
cgroupDriver: cgroupfs
cgroupRoot: %[6]q
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
enforceNodeAllocatable: [pods]
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
oomScoreAdj: 0
maxOpenFiles: 20000
resolvConf: ""
clusterDNS: [%[9]q]
clusterDomain: %[10]q
volumePluginDir: /var/lib/kubelet/volume-plugins
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
kubeAPIQPS: 200
kubeAPIBurst: 400
syncFrequency: 5s
nodeLeaseDurationSeconds: %[7]d
nodeStatusUpdateFrequency: %[8]ds
containerLogMaxSize: 1Gi
crashLoopBackOff: {maxContainerRestartPeriod: 5s}
featureGates: {KubeletCrashLoopBackOffMax: true}
`
