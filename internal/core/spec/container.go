package spec

// Build makes an image before the workload is queued, without a Docker daemon:
// layers are put on a base image and pushed to Target.
type Build struct {
	Base       string            `json:"base,omitempty" doc:"Image to build upon. By default the workload's own image." example:"python:3.12-slim" form:"image"`
	Target     string            `json:"target,omitempty" doc:"Name under which the new image is pushed. By default one below the server's --registry." example:"registry.acme.com/team/train:v7" form:"target"`
	Code       string            `json:"code,omitempty" doc:"Directory whose content becomes a layer, at the workdir of the image or /workspace." example:"."`
	CodePath   string            `json:"codePath,omitempty" doc:"Where code goes in the image." example:"/workspace" form:"absolute"`
	Pip        []string          `json:"pip,omitempty" doc:"Python packages, as pip install takes them." example:"[torch==2.5.1, einops]" form:"package"`
	Apt        []string          `json:"apt,omitempty" doc:"Debian packages." example:"[git, libgl1]" form:"package"`
	Run        []string          `json:"run,omitempty" doc:"Further commands, each for 'sh -c' in the image."`
	Env        map[string]string `json:"env,omitempty" doc:"Variables of the image." form:"variable"`
	Dockerfile string            `json:"dockerfile,omitempty" doc:"Path of a Dockerfile below code, built by an installed builder (buildah or buildctl); instead of pip, apt, run and env." form:"below"`
	PushSecret string            `json:"pushSecret,omitempty" doc:"Secret of type docker that opens the target's registry. By default every one of the user's that fits." form:"name"`
}

// SecretUse makes one secret visible to the tasks. A bare text in a document
// is Name.
type SecretUse struct {
	Name string `json:"name,omitempty" doc:"Name of the secret." required:"true" example:"hf-token" form:"name"`
	Env  string `json:"env,omitempty" doc:"Variable that holds it, or its file's path where it is of a type that is a file. By default what its type says." form:"variable"`
	Path string `json:"path,omitempty" doc:"Where its file is in a container. By default /secrets/NAME/secret." example:"/secrets/token" form:"absolute"`
}

// DataUse makes what a data source or a data volume says a part of the workload.
// A bare text in a document is Name.
type DataUse struct {
	Name     string `json:"name,omitempty" doc:"Name of the data source or data volume, or NAME@VERSION." required:"true" example:"imagenet" form:"asset"`
	Path     string `json:"path,omitempty" doc:"Where it is in the container. By default as it says itself." example:"/data" form:"absolute"`
	ReadOnly bool   `json:"readOnly,omitempty" doc:"Tasks cannot write to it, also where it says nothing of that."`
}

// Volume is a directory or file that tasks see. Exactly one of the sources is
// set.
type Volume struct {
	Path      string            `json:"path,omitempty" doc:"Where it is in the container." required:"true" example:"/data" form:"absolute"`
	HostPath  string            `json:"hostPath,omitempty" doc:"Directory or file of the node." example:"/srv/datasets" form:"absolute"`
	Create    bool              `json:"create,omitempty" doc:"Makes the directory hostPath where it is missing."`
	Temporary *Temporary        `json:"temporary,omitempty" doc:"An empty directory that goes with the task, in memory unless it says otherwise." short:"size"`
	Config    map[string]string `json:"config,omitempty" doc:"Files by name, with their content."`
	Secret    string            `json:"secret,omitempty" doc:"Name of a secret; path is then its file." form:"name"`
	Claim     string            `json:"claim,omitempty" doc:"Name of a PersistentVolumeClaim in its project's namespace; then it runs in Kubernetes clusters only." example:"datasets" form:"claim"`
	ReadOnly  bool              `json:"readOnly,omitempty" doc:"Tasks cannot write to it."`
}

// Temporary is an empty directory, in memory or on the node's disk.
type Temporary struct {
	Size Quantity `json:"size,omitempty" doc:"At most this much. By default half of the node's memory; what is on disk is not limited." example:"4Gi" min:"0"`
	Disk bool     `json:"disk,omitempty" doc:"It lies on the node's disk and not in memory."`
}

// Port is one on which tasks listen. A bare number in a document is Port.
type Port struct {
	Port int    `json:"port,omitempty" doc:"The port's number." required:"true" min:"1" max:"65535" example:"8888"`
	Name string `json:"name,omitempty" doc:"A word for it." example:"jupyter" form:"name"`
}

// RunAs is the user of a task's processes.
type RunAs struct {
	User  *int `json:"user,omitempty" doc:"User id." min:"0" max:"4294967294" example:"1000"`
	Group *int `json:"group,omitempty" doc:"Group id. By default the user's own." min:"0" max:"4294967294"`
}

// Init is a step of a task's start. It runs in the task's own environment and
// directory.
type Init struct {
	Command Command `json:"command,omitempty" doc:"What to run, as the workload's command." required:"true" example:"./fetch-data.sh"`
	Retries int     `json:"retries,omitempty" doc:"How often it is tried again, with growing waits, before the attempt fails." min:"0" max:"100"`
}

// Integration is one thing done before the command; exactly one field is set.
type Integration struct {
	Git    *Git    `json:"git,omitempty" doc:"Clones a repository."`
	Pip    *Pip    `json:"pip,omitempty" doc:"Installs Python packages."`
	Apt    *Apt    `json:"apt,omitempty" doc:"Installs Debian packages."`
	Wandb  *Wandb  `json:"wandb,omitempty" doc:"Variables for Weights & Biases."`
	Comet  *Comet  `json:"comet,omitempty" doc:"Variables for Comet."`
	Mlflow *Mlflow `json:"mlflow,omitempty" doc:"Variables for MLflow."`
}

// Git clones a repository into the working directory.
type Git struct {
	Repo   string `json:"repo,omitempty" doc:"ORG/REPO on the host, or a whole URL." required:"true" example:"mosaicml/composer"`
	Host   string `json:"host,omitempty" doc:"Where ORG/REPO is. By default github.com." example:"gitlab.com"`
	SSH    *bool  `json:"ssh,omitempty" doc:"Clones ORG/REPO over ssh, with the user's git-ssh secret. By default when there is one; else https."`
	Branch string `json:"branch,omitempty" doc:"Branch or tag. By default the repository's own."`
	Commit string `json:"commit,omitempty" doc:"Commit to check out."`
	Path   string `json:"path,omitempty" doc:"Directory below the working directory. By default the repository's name." form:"below"`
	Pip    string `json:"pip,omitempty" doc:"Handed to 'pip install' in the clone." example:"-e ."`
}

// Pip installs Python packages.
type Pip struct {
	Packages []string `json:"packages,omitempty" doc:"As pip install takes them." required:"true" example:"[einops, torch>=2.4]" form:"package"`
	Upgrade  bool     `json:"upgrade,omitempty" doc:"Upgrades what is there."`
}

// Apt installs Debian packages.
type Apt struct {
	Packages []string `json:"packages,omitempty" doc:"Names of packages." required:"true" example:"[nano]" form:"package"`
}

// Wandb sets WANDB_* variables.
type Wandb struct {
	Project string   `json:"project,omitempty" doc:"WANDB_PROJECT." required:"true" example:"mnist"`
	Entity  string   `json:"entity,omitempty" doc:"WANDB_ENTITY." required:"true" example:"acme"`
	Group   string   `json:"group,omitempty" doc:"WANDB_RUN_GROUP."`
	JobType string   `json:"jobType,omitempty" doc:"WANDB_JOB_TYPE."`
	Tags    []string `json:"tags,omitempty" doc:"WANDB_TAGS."`
}

// Comet sets COMET_* variables.
type Comet struct {
	Project   string `json:"project,omitempty" doc:"COMET_PROJECT_NAME."`
	Workspace string `json:"workspace,omitempty" doc:"COMET_WORKSPACE."`
}

// Mlflow sets MLFLOW_* variables.
type Mlflow struct {
	Experiment  string `json:"experiment,omitempty" doc:"MLFLOW_EXPERIMENT_NAME." required:"true" example:"mnist"`
	TrackingURI string `json:"trackingURI,omitempty" doc:"MLFLOW_TRACKING_URI. By default databricks."`
}
