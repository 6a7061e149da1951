package spec

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
