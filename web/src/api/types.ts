// Generated from api/openapi.json by `go run . types` in tools/web; do not edit.

export interface AccessControl {
  /** Whether what is done is written to the audit log: with access control it always is, and without where muster access audit on says so */
  audit: boolean
  changedAt?: Time
  changedBy?: string
  enabled: boolean
}

export interface AccessRule {
  createdAt: Time
  createdBy?: string
  id: string
  role: string
  /** Project or department; '-': the system */
  scope: string
  /** KIND:NAME, of the kinds user, service-account and group */
  subject: string
}

export interface AccessRuleList {
  items: AccessRule[]
}

export interface AccessSwitch {
  enabled: boolean
}

export interface Account {
  /** That it said they are in when they signed in last */
  groups?: string[]
  /** URL of the identity provider */
  provider?: string
  /** When they signed in last */
  seenAt?: Time
  /** What it calls the account */
  subject?: string
}

export interface Amount {
  /** In the unit of the field that holds it */
  total: number
  /** Of total, what is held, in the same unit */
  used: number
}

export interface Applied {
  dryRun?: boolean
  items: AppliedItem[]
}

export interface AppliedItem {
  action: "created" | "updated" | "unchanged"
  changes?: FieldChange[]
  kind: string
  name: string
  /** What is allowed and perhaps not meant */
  warnings?: string[]
}

export interface Approval {
  check: Check
  /** In whose place they would decide */
  for?: string
  gpus: number
  id: string
  kind: string
  /** Who asks may decide it */
  may: boolean
  project: string
  /** Why they may not */
  refusal?: string
  since: Time
  /** Who submitted it */
  user: string
  /** Its name */
  workload: string
}

export interface ApprovalList {
  items: Approval[]
}

export interface Attempt {
  /** On whose account it ended, as of transitions */
  cause?: string
  /** Index of the task that failed first */
  culprit?: number
  /** Gave its resources back */
  endedAt?: Time
  /** Of the first failed task, or 0 */
  exitCode?: number
  /** Earlier runs of tasks of an array that had to leave and run again; replicas and pods that others have replaced */
  former?: Task[]
  index: number
  /** Work without a checkpoint, of an attempt that ended otherwise than it or its user wanted; not in summaries */
  lost?: Lost
  message?: string
  queuedAt?: Time
  reason?: string
  /** What of the document was changed in it or after it, and so before the next */
  revised?: FieldChange[]
  runningAt?: Time
  /** The last checkpoint that its tasks told of */
  saved?: Saved
  /** Entered Starting */
  startedAt?: Time
  /** The last that its tasks told of */
  step?: number
  /** Each by its last run */
  tasks: Task[]
  /** Tasks that are left out, as tasks of the request asked */
  tasksLeft?: number
  /** Indexes of the tasks of an array that are its to run, like 0-3,7, or none; absent: all */
  todo?: string
}

export interface AuditChange {
  /** As JSON; absent: it is gone */
  after?: string
  /** As JSON; absent: it was not there */
  before?: string
  object: string
}

export interface AuditEntry {
  /** The route of the API */
  action: string
  /** user:NAME, or anonymous */
  actor: string
  /** Where the request came from; socket: from this machine */
  address?: string
  at: Time
  /** What was changed; without secrets */
  changes?: AuditChange[]
  /** SHA-256 over everything else */
  hash: string
  message?: string
  noun?: string
  /** What the request named */
  object?: string
  /** Hash of the entry before */
  previous: string
  result: "done" | "refused"
  /** Number of the entry, from 1 */
  seq: number
  /** Id of the token that was shown */
  token?: string
  verb?: string
}

export interface AuditList {
  items: AuditEntry[]
  /** Cursor of the next page */
  next?: string
}

export interface AuditSwitch {
  enabled: boolean
}

export interface AuditVerification {
  /** The first that is not */
  broken?: BrokenEntry
  /** Number of entries that were looked at, and are as they were written */
  entries: number
  /** Hash of the last of these; kept elsewhere it proves more than the database alone can */
  head: string
  intact: boolean
}

export interface Block {
  /** Tasks that would fit now */
  fitting: number
  /** In the unit of requested */
  free: number
  name: string
}

export interface Bounds {
  /** Ends it once it has let all its GPUs idle for so long */
  idleLimit?: string
  /** Node types that it may use; absent: any */
  nodeTypes?: string[]
  /** Ends it once it has run for so long */
  timeLimit?: string
}

export interface BrokenEntry {
  problem: string
  /** Number of the entry */
  seq: number
}

export interface Budget {
  /** Once it is used up. warn: it is told; hold (default): nothing new starts; stop: what runs leaves, too */
  atEnd?: "warn" | "hold" | "stop" | ""
  /** Every user has so much */
  eachUser?: boolean
  /** Begin of a budget for once */
  from?: Time
  /** GPU-hours */
  gpuHours?: number
  /** Unit: the currency of the prices */
  money?: number
  /** With atEnd stop, how long before what runs has to leave its users are told, like 10m, the default */
  notice?: string
  /** It is counted anew each day, week (from Monday) or month, in UTC; once: from from until until */
  period: "day" | "week" | "month" | "once"
  /** Its end */
  until?: Time
  /** Each a proportion of it, over 0 and below 1, at which is warned; absent: 0.8 */
  warnAt?: number[]
}

export interface BudgetList {
  items: BudgetState[]
  next: string
}

export interface BudgetState {
  /** Of so much: GPU-hours, or money */
  amount: number
  /** Once it is used up. warn: it is told; hold (default): nothing new starts; stop: what runs leaves, too */
  atEnd?: "warn" | "hold" | "stop" | ""
  /** Of the time that is counted at present */
  begins: Time
  currency?: string
  department?: boolean
  /** Every user has so much */
  eachUser?: boolean
  ends: Time
  /** Begin of a budget for once */
  from?: Time
  /** GPU-hours */
  gpuHours?: number
  /** Unit: the currency of the prices */
  money?: number
  /** With atEnd stop, how long before what runs has to leave its users are told, like 10m, the default */
  notice?: string
  /** When it will be used up if nothing changes; absent: not in this time */
  overAt?: Time
  /** It is counted anew each day, week (from Monday) or month, in UTC; once: from from until until */
  period: "day" | "week" | "month" | "once"
  /** Or department */
  project: string
  /** Proportion of it that is used, from 0 */
  share: number
  state: "open" | "warned" | "over"
  /** Its end */
  until?: Time
  /** GPU-hours, or money */
  used: number
  /** Of whom it is, where each user has one */
  user?: string
  /** Each a proportion of it, over 0 and below 1, at which is warned; absent: 0.8 */
  warnAt?: number[]
}

export interface BulkAction {
  action: string
  /** Workloads with which it was done */
  done: number
  endedAt?: Time
  id: string
  /** Workloads that were asked and refused */
  refused: number
  startedAt: Time
  state: "running" | "done" | "cancelled"
  /** Workloads that were named, or that the filter meant */
  total: number
  /** Who asked for it */
  user: string
}

export interface BulkActionList {
  items: BulkAction[]
}

export interface BulkItem {
  problem?: Problem
  workload?: Workload
}

export interface BulkOutcome {
  id: string
  name?: string
  /** Phase after the action */
  phase?: string
  /** Why it was refused */
  problem?: Problem
  /** Left out where no workload has the id */
  project?: string
}

export interface BulkOutcomeList {
  items: BulkOutcome[]
  /** cursor of the next page */
  next?: string
}

export interface BulkResult {
  items: BulkItem[]
}

export interface Changes {
  /** By name; departments too */
  projects: Record<string, Record<string, unknown>>
}

export interface Check {
  /** It is asked anew at its deadline, and not rejected */
  again?: boolean
  /** When it is asked again */
  askAt?: Time
  at?: Time
  /** Who decided */
  by?: string
  /** Rejected by then, or asked anew */
  deadline?: Time
  /** Images to be looked at */
  images?: string[]
  message?: string
  name: string
  /** How many people have to approve */
  need?: number
  /** Not who has submitted it */
  notSubmitter?: boolean
  /** Who has it may approve, beside users */
  role?: string
  /** Whose check it is: of a project, a department or '-', the system; empty: the document's own, or one of its project's rules */
  scope?: string
  /** Questions that brought no decision */
  tries?: number
  type: "approval" | "webhook" | "image" | "budget" | "workload" | "time"
  /** Who may approve; empty: everyone */
  users?: string[]
  verdict: "waiting" | "asked" | "approved" | "rejected"
  /** Who has approved so far */
  votes?: Vote[]
  when: "queue" | "reservation"
}

export interface CheckTest {
  /** Document of the workload; by default one that does nothing */
  document?: unknown
}

export interface CheckTrial {
  /** It is about this workload at all */
  applies: boolean
  /** What the program has answered */
  decision?: "approve" | "reject" | "wait" | "retry"
  /** Those to be looked at */
  images?: string[]
  /** What it says of it */
  message?: string
  /** How many have to approve */
  need?: number
  /** Why there was no answer */
  problem?: string
  tookSeconds?: number
  /** Who may decide, in words */
  who?: string
}

export interface Checked {
  note?: string
  what: string
}

export interface Checkpoint {
  at: Time
  /** That wrote it */
  attempt: number
  /** As the tasks find it */
  path: string
  step?: number
}

export interface Cluster {
  at: Time
  nodes: Node[]
  pools: Pool[]
  projects: Project[]
  /** Workloads that hold resources */
  running: number
  /** Workloads that wait for resources */
  waiting: number
}

export interface ClusterInfo {
  /** In thousandths of GPUs */
  gpuMilli: GPUCounts
  /** local or kubernetes */
  kind: string
  /** Why it does not answer */
  message?: string
  name: string
  nodes: NodeCounts
  /** Whether it answers; nothing new is placed on one that does not, and what runs there goes on */
  reachable: boolean
  /** Its address */
  server?: string
  /** Since when it does not answer */
  since?: Time
  tasks: number
  /** Of the cluster's own server */
  version?: string
  /** Workloads with tasks there */
  workloads: number
}

export interface ClusterList {
  items: ClusterInfo[]
}

export interface Condition {
  message?: string
  reason?: string
  since: Time
  type: string
}

export interface ConvertNote {
  fate: "kept" | "translated" | "approximated" | "ignored" | "refused"
  /** In the file's own words */
  field: string
  /** The last line, where there are several */
  last?: number
  /** From 1 */
  line?: number
  /** Whether meaning is lost */
  lossy?: boolean
  /** Why it is not simply kept */
  reason?: string
  /** Where the document says it */
  to?: string
  /** What it said, shortened */
  value?: string
}

export interface ConvertRequest {
  /** The file: a manifest of Kubernetes, a script for sbatch, YAML of mcli, SkyPilot or dstack, or command lines of runai */
  content: string
  /** Its format, where the content does not tell */
  format?: "muster" | "kubernetes" | "sbatch" | "mcli" | "runai" | "skypilot" | "dstack"
}

export interface Converted {
  /** Workload documents, ready to be submitted */
  documents?: unknown[]
  /** Format of the file */
  format: string
  /** Whether meaning is lost: some note says what */
  lossy?: boolean
  /** What became of each field, by line */
  notes: ConvertNote[] | null
}

export interface CourseHolder {
  /** It may not be seen by who asks: it has no name here */
  hidden?: boolean
  id: string
  kind: string
  name: string
  project: string
  user: string
}

export interface DeadlineState {
  /** What becomes of it then */
  action: "warn" | "stop"
  at: Time
  /** When it is likely to be done; absent: nobody can tell */
  expectedEnd?: Time
  /** Whether that is in time; absent: nobody can tell */
  inTime?: boolean
  /** When it has to start at the latest to be done in time; absent: its length is not known */
  latestStart?: Time
  /** Until the deadline; absent: it has passed */
  left?: string
  /** How long it is taken to run */
  length?: string
  /** Where that is from */
  lengthFrom?: "expectedDuration" | "learnt" | "maxDuration"
  /** The deadline has passed */
  missed?: boolean
}

export interface Decision {
  allowed: boolean
  /** The access rule by which it is allowed */
  because?: AccessRule
  hint?: string
  message: string
  noun: string
  /** Not of anybody's, but of their own it is allowed */
  onlyOwn?: boolean
  /** Asked of what is their own */
  own?: boolean
  scope: string
  user: string
  verb: string
}

export interface DecisionOptions {
  /** Which check; needed where several wait for a person */
  check?: string
  /** Why; kept with the check */
  message?: string
}

export interface Delegation {
  comment?: string
  from: string
  /** Project or department; '-': everywhere that one may */
  scope: string
  /** User who decides */
  to: string
  until: Time
}

export interface DelegationList {
  items: Delegation[]
}

export interface Delivery {
  /** When it happened */
  at: Time
  /** Address */
  email?: string
  /** The same for every try; webhooks have it in webhook-id */
  id: string
  /** When it was tried last */
  lastAt?: Time
  message?: string
  /** Of the workload */
  name?: string
  /** When it is tried next */
  nextAt?: Time
  /** The status that was asked for, in the words of who asked; test */
  on: string
  phase?: string
  /** What went wrong with the last try */
  problem?: string
  project?: string
  reason?: string
  /** Secret of type env or mounted with the key that signs the webhook */
  secret?: string
  /** URL of Slack's incoming webhook, or the name of a secret that holds it */
  slack?: string
  state: "waiting" | "delivered" | "failed"
  tries: number
  user: string
  /** URL to which a CloudEvent is posted */
  webhook?: string
  /** Its id; absent of a test */
  workload?: string
}

export interface DeliveryList {
  items: Delivery[]
  next: string
}

export interface Device {
  /** Not a real GPU: for trying things out */
  fake?: boolean
  healthy: boolean
  id: string
  index: number
  memoryBytes: number
  product: string
  /** Thousandths held */
  used: number
}

export interface DeviceCourse {
  /** Of partitions of devices, where nothing says of which: their count by profile */
  id: string
  /** By their begin */
  spans: SpanOfUse[]
}

export interface DeviceHolder {
  /** In thousandths */
  part: number
  /** Index of the task */
  task: number
  /** Its place in workloads, from 0 */
  workload: number
}

export interface DeviceHoldings {
  held?: DeviceHolder[]
  id: string
  /** 0 to 1, as last measured; absent: nobody looked lately */
  utilization?: number
}

export interface DeviceLink {
  /** Number of the one GPU on its node */
  a: number
  /** Number of the other */
  b: number
  /** NVLinks, one PCIe switch, several, a PCIe host bridge, the bridges of one NUMA node, the sockets' interconnect */
  kind: "nvlink" | "switch" | "switches" | "host-bridge" | "numa-node" | "sockets"
  /** Of NVLinks, how many there are at least */
  links?: number
}

export interface Draft {
  /** What it says, without defaults, be it wrong; absent where it cannot be read at all */
  document?: unknown
  /** That it asks for, over all tasks */
  gpus?: number
  /** What would become of it; absent with a problem */
  plan?: Plan
  /** Why it would be refused, field by field */
  problem?: Problem
  /** The document with what its assets say and defaults; absent where that cannot be told */
  spec?: unknown
  /** That it would have */
  tasks?: number
  /** What is allowed and perhaps not meant, such as what may use more than is left of a budget */
  warnings?: string[]
}

export interface Drain {
  items: DrainStep[]
  node: Node
}

export interface DrainStep {
  /** move: it starts again on other nodes; park: it is ended, and waits since no other node could take it; wait: it is not preemptible and runs to its own end; ending: it is on its way out */
  action: "move" | "park" | "wait" | "ending"
  /** When it ends by itself at the latest, where that is known */
  endsBy?: Time
  /** Thousandths of the node's devices that they hold */
  gpu: number
  /** How long its tasks have to end */
  grace?: string
  id: string
  kind: string
  project: string
  /** On the node */
  tasks: number
  user: string
  workload: string
}

export interface EffectivePolicy {
  /** By path */
  fields: PolicyField[]
  impose: PolicyImposed[]
  kind: string
  /** Nearest first */
  policies: PolicySource[]
  project: string
}

export interface EffectiveRules {
  /** Ends what has let all its GPUs idle for so long, by kind; KIND-preemptible and KIND-non-preemptible are of some of a kind */
  idleLimit?: Record<string, string>
  /** Node types that may be used, by kind; an empty list: none */
  nodeTypes?: Record<string, string[] | null>
  /** Ends what has run for so long, by kind */
  timeLimit?: Record<string, string>
}

export interface Estimate {
  /** Later than this, up to which was looked */
  after?: Time
  /** If all goes quickly; absent beside late: it may be any time before that, when others have to give way to who has waited for so long */
  early?: Time
  /** Past estimates that were right: it started within the range */
  inside: number
  /** If all goes slowly; absent: nobody can tell */
  late?: Time
  /** Running workloads whose likes have ended before */
  learnt: number
  /** As things usually go */
  likely?: Time
  /** Running workloads of which only a time limit is known */
  limits: number
  /** Past estimates that came to be compared */
  scored: number
  /** There is too much to simulate: likely is the first known end after which there is room */
  simple?: boolean
  /** Running workloads of whose ends nothing is known */
  unknown: number
  /** Median of how long it was then until the start */
  waitSeconds?: number
  /** Median width of the last ranges that were compared */
  widthSeconds?: number
}

export interface Field {
  /** As it would be written */
  default?: string
  doc: string
  /** What is allowed */
  enum?: string[]
  example?: string
  /** Of a map, or of the maps of a list */
  fields?: Field[]
  max?: string
  min?: string
  name?: string
  /** The kinds that it is for, with commas between; empty: all */
  only?: string
  /** The one that a bare number with a fraction stands for, where it is another */
  part?: string
  /** Empty: the document */
  path?: string
  /** Where the map around it is there */
  required?: boolean
  /** Of a map or a list of maps: the field that a bare number or text stands for */
  short?: string
  /** In words: string, list of strings, quantity, number or map … */
  type: string
}

export interface FieldChange {
  from?: unknown
  path: string
  to?: unknown
}

export interface FieldProblem {
  allowed?: string[]
  hint?: string
  line?: number
  path: string
  problem: string
  value?: string
}

export interface FirstError {
  /** When it was written */
  at?: Time
  attempt: number
  devices?: string[]
  /** It reports something that went wrong elsewhere */
  echo?: boolean
  /** The error whole, as it stands in the output */
  excerpt: string[]
  exitCode?: number
  /** The next step */
  hint?: string
  /** Sort of error, such as Python exception, CUDA out of memory, NCCL error or timeout, image, disk, exit code */
  kind: string
  /** Of the output, from 1, where it begins */
  line?: number
  node?: string
  role: string
  /** Index of the task */
  task: number
  /** The one line that says most */
  title: string
}

export interface FirstErrorResult {
  /** What was found in the output of other tasks, without excerpts */
  also?: FirstError[]
  /** What explains the others; absent: nothing was found */
  error?: FirstError
}

export interface GPUCounts {
  /** Thousandths of GPUs that are healthy, on nodes that take work, and held by nobody, other schedulers included */
  free: number
  /** Thousandths of GPUs */
  total: number
}

export interface Greeting {
  /** The server's clock */
  at: Time
  /** Up to which the stream has told everything, once the rows have come that follow */
  revision: number
  /** Of the server */
  version: string
}

export interface HealthSpan {
  /** IDs of devices that were not healthy */
  broken?: string[]
  cordoned?: boolean
  /** Its cluster did not answer */
  cutOff?: boolean
  draining?: boolean
  /** Milliseconds since the Unix epoch */
  from: number
  notReady?: boolean
  /** Milliseconds since the Unix epoch; absent: it is so still */
  to?: number
}

export interface Hold {
  at: Time
  /** As the actor of transitions */
  by: string
  message?: string
}

export interface HoldOptions {
  /** Why; kept in the history */
  message?: string
  /** To hold: also what runs, which goes back to its queue, and what has ended, which is to run again */
  requeue?: boolean
  /** Only these tasks of an array; the others go on */
  tasks?: number[]
}

export interface Holder {
  /** Thousandths of devices that it holds */
  gpu: number
  /** It may not be seen by who asks: it has no name here */
  hidden?: boolean
  id: string
  kind: string
  /** In nine cases of ten it has ended by then */
  late?: Time
  /** When it is likely to end; absent: nobody knows */
  likely?: Time
  name: string
  phase: string
  preemptible: boolean
  project: string
  user: string
}

export interface Holdings {
  at: Time
  /** Those with devices that are held or measured */
  nodes: NodeHoldings[]
  /** Those that hold devices */
  workloads: Holder[]
}

export interface HoldingsCourse {
  /** From when on it is whole: later than asked for where more is held than one answer tells */
  from: Time
  /** When it was looked at how well nodes were: of other times that is not known */
  looked: Stretch[]
  /** Those with devices that were or will be held, or that were not as they should be */
  nodes: NodeCourse[]
  /** What is before was so; what is after is likely */
  now: Time
  /** There is too much to foretell: nothing after now is told but likely ends */
  simple?: boolean
  /** Up to when it tells: earlier than asked for where nobody can tell more */
  to: Time
  workloads: CourseHolder[]
}

export interface Identity {
  /** Whether rules decide what they may do */
  accessControl: boolean
  /** How they came in */
  by: "socket" | "token" | "browser"
  /** Until when the token is good */
  expiresAt?: Time
  groups?: string[]
  kind: "user" | "service-account"
  /** The server is theirs: they may do everything */
  owner?: boolean
  /** What that token allows at most */
  permissions?: string[]
  /** URL of the identity provider by which they signed in */
  provider?: string
  /** By which they have roles */
  rules: AccessRule[]
  /** Where that token is good */
  scope?: string
  /** Id of the token that was shown */
  token?: string
  user: string
}

export interface JobStep {
  /** CPU cores of all its processes */
  cpus: number
  /** Absent where it goes on, or has ended with its script */
  endedAt?: Time
  exitCode?: number
  /** Its number in the script, from 0 */
  id: number
  /** Its program, or what srun was told to call it */
  name: string
  /** Indexes of the tasks on whose nodes it is; absent: of all */
  on?: number[]
  startedAt: Time
  /** Index of the task that runs the script */
  task: number
  /** Its processes */
  tasks: number
}

export interface JobStepEnd {
  /** The highest of its processes; 128 + signal where one ended it */
  exitCode?: number
  /** Its number in the script, from 0 */
  id: number
  /** Index of the task that runs the script */
  task: number
}

export interface License {
  createdAt?: Time
  /** Who holds it, the most first */
  holders: Licensee[]
  name: string
  note?: string
  /** How many workloads may hold together */
  total: number
  /** Held by workloads, from the placement of their first task to the end of their last */
  used: number
  /** That workloads in their queues ask for */
  waiting: number
  /** In answers to changes: what is allowed and perhaps not meant */
  warnings?: string[]
}

export interface LicenseList {
  items: License[]
  next: string
}

export interface LicenseSpec {
  note?: string
  /** How many workloads may hold together */
  total: number
}

export interface Licensee {
  count: number
  id: string
  name: string
  project: string
  user: string
}

export interface Lifecycle {
  /** The same for Graphviz */
  dot: string
  /** The same as a diagram */
  mermaid: string
  phases: Phase[]
  rules: Rule[]
  /** The vocabulary of the dialect that was asked for */
  words?: Word[]
}

export interface LogHits {
  /** By task and offset; of each line at most 500 characters */
  hits: LogLine[]
  /** after of the search that goes on; empty: everything was searched */
  next: string
  /** Searched until now, with the searches before that this one went on from */
  scannedBytes: number
  /** Of all that is to be searched */
  totalBytes: number
}

export interface LogLine {
  /** When it was written, to a tenth of a second; the year 1: not known, or not asked: of hits in one log */
  at: Time
  /** Byte of the task's log at which it begins */
  offset: number
  run?: number
  /** Index of the task */
  task: number
  /** Without its end; of a line of more than 64 KiB the begin */
  text: string
}

export interface LogPage {
  /** after of the page that comes next; there may be nothing yet */
  after: string
  /** before of the page that comes before this one; empty: nothing does */
  before: string
  /** While following: nothing comes any more */
  ended?: boolean
  /** Tasks that are left out, as they are too many; tasks chooses others */
  left?: number
  lines: LogLine[]
  /** There is more after it now */
  more?: boolean
}

export interface Login {
  answer?: SignInAnswer
  code?: string
  token?: string
}

export interface LoginCode {
  /** URL of the server for browsers of its own machine; asked for over its socket only */
  address?: string
  code: string
  expiresAt: Time
  /** Of the page that takes it, below the server's address */
  path: string
}

export interface Lost {
  /** What its tasks had their GPUs for since then, but for those that succeeded */
  gpuSeconds: number
  /** Run time since the last checkpoint, or all of it */
  seconds: number
  /** Steps since the last checkpoint, where its tasks told of them */
  steps?: number
}

export interface MadeToken {
  /** The session is a browser's */
  browser?: boolean
  createdAt: Time
  createdBy?: string
  expired?: boolean
  /** Absent: never */
  expiresAt?: Time
  id: string
  note?: string
  /** What it allows at most; absent: all that its user may do */
  permissions?: string[]
  /** URL of the identity provider by which its user signed in: the token is a session. Absent: it was made */
  provider?: string
  /** Project or department in which it is good; absent: everywhere */
  scope?: string
  /** What is sent as Authorization: Bearer; it cannot be read again */
  text: string
  /** When it was shown last, to within five minutes */
  usedAt?: Time
  /** Or service account */
  user: string
}

export interface Manifest {
  items: Record<string, unknown>[]
}

export interface MemoryQuota {
  lendingLimit?: string
  limit?: string
  quota?: string
  /** As of the other resources, a proportion against its siblings */
  weight?: number
}

export interface MetricSeries {
  /** Of a workload */
  attempt?: number
  /** ID of the GPU on its node */
  device?: string
  /** Number of the GPU on its node */
  deviceIndex?: number
  /** Of the workload, where several were asked for */
  id?: string
  /** The newest value that is known, in the unit of the metric */
  last?: number
  /** In the unit of the metric */
  max?: number
  /** In the unit of the metric */
  mean?: number
  /** Its last word is the unit: cpu_cores, memory_bytes, network_bytes_per_second (received and sent, of tasks that have a network of their own), gpu_utilization_ratio (0 to 1), gpu_memory_bytes, gpu_memory_total_bytes, gpu_power_watts, gpu_temperature_celsius; of a service requests_per_second, request_errors_per_second, request_median_seconds, request_p95_seconds; of a cluster gpus, gpus_allocated, gpus_busy, gpus_idle_allocated, gpus_waited_for, workloads_running, workloads_waiting */
  metric: string
  /** In the unit of the metric */
  min?: number
  node?: string
  project?: string
  role?: string
  /** Part of the GPU that the task holds, 0 to 1, where that is not all of it; what is measured is the whole GPU */
  share?: number
  /** Index of the task, of a workload */
  task?: number
  /** The mean of each step, in the unit of the metric; null: nobody looked */
  values: (number | null)[]
}

export interface Metrics {
  /** Begin of the first step */
  from: Time
  /** What is not known, and why, a sentence each */
  missing: string[]
  series: MetricSeries[]
  /** Of the tasks that run, the one that does least, over the last five minutes */
  slowest?: Slowest
  /** Length of one step */
  stepSeconds: number
  /** End of the last step */
  to: Time
}

export interface Moved {
  /** When it left */
  at: Time
  /** Name of the machine */
  from: string
  /** SHA-256 of the database as it left */
  id: string
}

export interface NewAccessRule {
  role: string
  /** Project or department; '-': the system */
  scope: string
  /** KIND:NAME, of the kinds user, service-account and group */
  subject: string
}

export interface NewBulkAction {
  /** As POST …/NAME:action; delete as DELETE, change as PATCH */
  action: "stop" | "restart" | "delete" | "hold" | "release" | "preempt" | "move" | "approve" | "reject" | "change"
  /** In place of workloads: as of the list of workloads */
  filter?: string
  /** The body of the action of one workload, the same for each; of change the merge patch */
  options?: unknown
  /** With filter: only of this project */
  project?: string
  /** Ids; at most 50,000 */
  workloads?: string[]
}

export interface NewCheckpoint {
  /** As the tasks find it */
  path: string
  step?: number
}

export interface NewDelegation {
  comment?: string
  /** Project or department; '-': everywhere that one may */
  scope: string
  /** User who decides */
  to: string
  until: Time
}

export interface NewJobStep {
  /** CPU cores of all its processes */
  cpus: number
  /** Its number in the script, from 0 */
  id: number
  /** Its program, or what srun was told to call it */
  name: string
  /** Indexes of the tasks on whose nodes it is; absent: of all */
  on?: number[]
  /** Index of the task that runs the script */
  task: number
  /** Its processes */
  tasks: number
}

export interface NewLicense {
  name: string
  note?: string
  /** How many workloads may hold together */
  total: number
}

export interface NewNotification {
  /** Address */
  email?: string
  /** Of every user's workloads in project, or in those of that department */
  everyone?: boolean
  /** That the workloads must have */
  labels?: Record<string, string>
  /** A word for it, unique among the user's */
  name: string
  /** Statuses: phases, words of other platforms such as mcli:COMPLETED, DeadlineNear, DeadlineAtRisk and DeadlineMissed; by default every end and these three */
  on?: string[]
  /** Of the workloads; by default any */
  project?: string
  /** Secret of type env or mounted with the key that signs the webhook */
  secret?: string
  /** URL of Slack's incoming webhook, or the name of a secret that holds it */
  slack?: string
  /** URL to which a CloudEvent is posted */
  webhook?: string
}

export interface NewPolicy {
  /** Fields of a workload document, filled in where a document says nothing */
  defaults?: Record<string, unknown>
  description?: string
  /** Kind of workloads; all: every kind that has no rule of its own in the scope */
  for: "all" | "workspace" | "training" | "distributed" | "inference"
  /** Assets that every workload is given */
  impose?: PolicyImpose
  /** By field, as maps in maps or paths with dots: canEdit, required, min, max, step, options, defaultFrom; of maps and lists of items instances and attributes */
  rules?: Record<string, unknown>
}

export interface NewPool {
  /** For how long what has started in it is not displaced */
  minRuntime?: string
  name: string
  note?: string
  /** How its nodes are filled */
  placement?: PoolPlacement
  /** KEY=VALUE: the label that gathers its nodes; default has none */
  selector?: string
  /** Labels of its nodes from the widest domain to the narrowest */
  topology?: string[]
}

export interface NewProject {
  /** How long work may last at most, by its maxDuration or a time limit, that uses more than the quota; empty: as above it, else any time */
  borrowingTimeLimit?: string
  /** GPU-hours that may be used in every budgetPeriod */
  budgetGpuHours?: number
  /** Like 30d */
  budgetPeriod?: string
  /** How much it may use, each by itself; GET /v1/budgets says how they stand */
  budgets?: Budget[]
  /** Checks of every workload, each as in a document's checks */
  checks?: unknown
  /** Ends what has let all its GPUs idle for so long, by kind; KIND-preemptible and KIND-non-preemptible are of some of a kind */
  idleLimit?: Record<string, string>
  /** Workloads that have not started; one more is refused. 0: any */
  maxQueued?: number
  /** Workloads at once; 0: any */
  maxRunning?: number
  name: string
  /** Node types that its workloads may use, by kind */
  nodeTypes?: Record<string, string[] | null>
  /** Why it is stopped; shown to whoever waits */
  note?: string
  /** The department that it stands below; empty: none */
  parent?: string
  /** Where its workloads go whose documents name no pool, in order */
  poolOrder?: string[]
  /** What it may use of each pool, by name; * stands for all that are not named. Where nothing is said it may use everything */
  pools?: Record<string, PoolQuota>
  /** For how long what has started is let alone by higher priorities of its own queue; empty: as above it */
  preemptMinRuntime?: string
  /** Rank among its siblings: what is left over quota goes to the highest first; default 100 */
  priority?: number
  /** The same for other queues */
  reclaimMinRuntime?: string
  /** hold: nothing new starts; hold-and-drain: what runs goes back to its queue too; empty: open */
  stopMode?: "hold" | "hold-and-drain" | ""
  /** Ends what has run for so long, by kind */
  timeLimit?: Record<string, string>
  /** What each user may have in it at once */
  userLimit?: UserLimit
}

export interface NewReportMail {
  /** To whom */
  email: string
  /** Only what is of this project, or of the projects of this department */
  project?: string
  /** In which weeks begin, like Europe/Berlin; default: that of the server */
  timeZone?: string
  /** Only what is of this user */
  user?: string
  /** last, this, or one like 2026-W47; default: last */
  week?: string
}

export interface NewReservation {
  /** For how long, like 2h */
  duration?: string
  /** As many whole nodes of the pool as have so many GPUs */
  gpus?: number
  /** What runs when it begins is left to its end, preemptible or not */
  ignoreJobs?: boolean
  /** Those for whom it is need not name it */
  magnetic?: boolean
  /** It is for nobody: the nodes are worked on */
  maintenance?: boolean
  name: string
  /** So many nodes of the pool; which they are is chosen when it is made */
  nodeCount?: number
  /** The nodes that it keeps, by name */
  nodes?: string[]
  /** What it is for; shown to whoever waits */
  note?: string
  /** All nodes of this pool, or as many as nodeCount or gpus say */
  pool?: string
  /** It is for work of these projects, or of projects below these departments */
  projects?: string[]
  /** It comes again every 24 hours, or every 7 times that; empty: only once */
  repeat?: "daily" | "weekly" | ""
  /** KEY=VALUE: all nodes that have this label */
  selector?: string
  /** When it begins, like 2026-12-24T18:00:00Z */
  start?: string
  /** It is for work of these users */
  users?: string[]
}

export interface NewRole {
  assigns?: string[]
  description?: string
  name: string
  /** VERB:NOUN or VERB:NOUN:own */
  permissions: string[]
}

export interface NewSchedule {
  /** What becomes of a run that is due while one before it has not ended: it starts beside it (allow, the default), waits for its end (forbid), or has it stopped (replace) */
  concurrency?: "allow" | "forbid" | "replace" | ""
  /** When it runs: minute, hour, day of the month, month and day of the week, each '*', numbers, names, ranges a-b, steps * /n and lists of these; or @hourly, @daily, @weekly, @monthly, @yearly */
  cron: string
  description?: string
  /** Workload document of its runs, without name and project; the assets that it names are taken anew for each run */
  document: Record<string, unknown>
  /** How many runs that have completed are kept, the newest; by default 3. Older ones are deleted */
  keepCompleted?: number
  /** How many runs that have ended otherwise are kept, the newest; by default 1 */
  keepFailed?: number
  /** Lower-case letters, digits and '-', at most 39 characters: its runs are called NAME-202612310200, by their time in UTC */
  name: string
  /** A run that cannot start within this of its time is given up; empty: it starts however late it is */
  startingDeadline?: string
  /** It starts no runs by itself */
  suspended?: boolean
  /** By whose clocks, as the IANA list names it; empty: UTC */
  timeZone?: string
}

export interface NewScopeCheck {
  /** How many different people have to approve; by default 1 */
  approvals?: number
  /** Certificates in PEM by which the program is known, instead of the machine's */
  ca?: string
  description?: string
  /** What is done then: it counts as rejected (the default), or approvals are asked for anew */
  expired?: "reject" | "again"
  /** Patterns of images that it is about, with * for any text; none: all */
  images?: string[]
  /** Kinds of workloads that it is about; none: all */
  kinds?: string[]
  /** Only workloads that ask for so many GPUs in all, with fractions */
  minGpus?: number
  name: string
  /** Not who has submitted it, nor another in their place */
  notSubmitter?: boolean
  /** What an approval holds for: the image as it is named (the default), every image of its repository, or only what is named by digest */
  remember?: "image" | "repository" | "digest"
  /** Who has this role where the workload is may decide */
  role?: string
  /** Secret of who sets the check, with the keys that sign questions (Standard Webhooks) */
  secret?: string
  /** How long one question may take, like 5s; by default 10s */
  timeout?: string
  /** Questions in a row without an answer before it lets through; by default 3 */
  tries?: number
  /** Patterns of images that need no review */
  trusted?: string[]
  /** People approve, a program is asked, or people look at images before their first use */
  type: "approval" | "webhook" | "image"
  /** Where there is no answer: lets through after some tries, or asks on (the default) */
  unanswered?: "open" | "closed"
  /** Where the question is posted, of type webhook */
  url?: string
  /** Who may decide, beside those with the role; with neither whoever may approve workloads there */
  users?: string[]
  /** Before it is queued, or once its quota is reserved; by default queue */
  when?: "queue" | "reservation"
  /** How long there is to decide, like 24h; by default there is no end */
  within?: string
}

export interface NewSecret {
  /** Give it to every workload of its user, or in its project or department */
  everywhere?: boolean
  /** What is not secret: env, path, server, username, host */
  fields?: Record<string, string>
  name: string
  type: "env" | "mounted" | "docker" | "ssh" | "git-ssh" | "sftp-ssh" | "s3" | "gcp" | "oci" | "databricks" | "hf"
  /** What is, in base64 */
  values: Record<string, string>
}

export interface NewShare {
  /** Only the curve of this reported number; default: the state of the workload and all curves */
  chart?: string
  /** For how long the link is good, like 12h; 1h to 90d; default: 7d */
  expires?: string
  /** Also the last lines that its tasks have written; not with chart */
  logs?: boolean
  /** Of the workload; needed where it is named by its name */
  project?: string
  /** Name or id of a workload of who asks */
  workload: string
}

export interface NewSignIn {
  /** URL to which the provider sends the browser back: the sign-in page of this server, or an address of the machine that the browser is on */
  redirect: string
}

export interface NewTemplate {
  description?: string
  /** Fields of a workload document; of an environment image, command, env, volumes and the like, of a compute resource resources and tolerations, of a data source volumes, integrations, secrets and env, of a data volume volumes */
  document: Record<string, unknown>
  /** Who may change it beside its user; *: everyone */
  editors?: string[]
  /** Name of an environment that a template builds upon */
  environment?: string
  name: string
  /** Projects and departments elsewhere that may use it too, without writing to it; of a data volume alone */
  sharedWith?: string[]
}

export interface NewToken {
  /** Like 12h or 30d; 0s: until it is revoked; absent: 30d */
  lifetime?: string
  note?: string
  /** VERB:NOUN or VERB:NOUN:own: what it allows at most */
  permissions?: string[]
  /** Project or department in which it is good */
  scope?: string
  /** Or service account; absent: whoever asks */
  user?: string
}

export interface NewUser {
  groups?: string[]
  name: string
  note?: string
  /** Account of the server's machine that their tasks run as; only the server's owner says so */
  osUser?: string
  /** The first whom the identity provider calls by this name is let in as this user */
  sso?: boolean
}

export interface NewWeeklyReport {
  /** To whom */
  email: string
  /** Only what is of this project, or of the projects of this department */
  project?: string
  /** In which weeks begin, like Europe/Berlin; default: that of the server */
  timeZone?: string
  /** Only what is of this user */
  user?: string
}

export interface Node {
  backend: string
  /** It takes nothing new */
  cordoned: boolean
  /** Thousandths of cores */
  cpu: Amount
  /** Its cluster does not answer: it takes nothing new, and what runs there goes on */
  cutOff?: boolean
  devices: Device[]
  /** And what ran on it was told to move; once tasks is 0 it is drained */
  draining?: boolean
  /** Extended resources by name, used by tasks and by others */
  extended?: Record<string, Amount>
  /** Thousandths of devices */
  gpu: Amount
  labels?: Record<string, string>
  /** What connects its GPUs, each pair once; absent: nobody knows */
  links?: DeviceLink[]
  /** Bytes */
  memory: Amount
  message?: string
  /** MIG partitions by profile, used by tasks and by others; on which GPU each is clusters do not tell */
  mig?: Record<string, Amount>
  name: string
  /** Why */
  note?: string
  pool: string
  ready: boolean
  taints?: Taint[]
  tasks: number
}

export interface NodeCounts {
  /** Nodes that take work */
  ready: number
  /** Nodes */
  total: number
}

export interface NodeCourse {
  devices: DeviceCourse[]
  /** When something kept it from taking all work, by begin */
  health?: HealthSpan[]
  name: string
}

export interface NodeHoldings {
  devices: DeviceHoldings[]
  name: string
}

export interface NodeList {
  items: Node[]
  next: string
}

export interface NodeOptions {
  /** label: keys to drop; taint: KEY or KEY:EFFECT to drop */
  drop?: string[]
  /** drain: also what is not preemptible */
  force?: boolean
  /** cordon, drain: why */
  note?: string
  /** label: labels to set */
  set?: Record<string, string>
  /** taint: taints to set */
  taints?: Taint[]
}

export interface Notification {
  createdAt: Time
  /** Address */
  email?: string
  /** Of every user's workloads in project, or in those of that department */
  everyone?: boolean
  /** That the workloads must have */
  labels?: Record<string, string>
  /** A word for it, unique among the user's */
  name: string
  /** Statuses: phases, words of other platforms such as mcli:COMPLETED, DeadlineNear, DeadlineAtRisk and DeadlineMissed; by default every end and these three */
  on?: string[]
  /** Of the workloads; by default any */
  project?: string
  /** Secret of type env or mounted with the key that signs the webhook */
  secret?: string
  /** URL of Slack's incoming webhook, or the name of a secret that holds it */
  slack?: string
  /** URL to which a CloudEvent is posted */
  webhook?: string
}

export interface NotificationList {
  items: Notification[]
  next: string
}

export interface NotificationTest {
  /** Address */
  email?: string
  /** Of a notification; instead of a receiver */
  name?: string
  /** Secret of type env or mounted with the key that signs the webhook */
  secret?: string
  /** URL of Slack's incoming webhook, or the name of a secret that holds it */
  slack?: string
  /** URL to which a CloudEvent is posted */
  webhook?: string
}

export interface Overview {
  cluster: Cluster
  /** Live workloads by phase */
  phases: Record<string, number>
  /** Of those that wait the first of every queue, then the newest, at most 1000 */
  waits: Wait[]
}

export interface OverviewChange {
  /** With those nodes alone that are new or have become another; absent: as before */
  cluster?: Cluster
  /** Names of nodes that are no longer there */
  gone?: string[]
  /** Live workloads by phase */
  phases: Record<string, number>
  /** Absent: as before */
  waits?: Wait[]
}

export interface Pending {
  /** Names of the first few that go before it */
  ahead: string[]
  /** The expected start: the likely one of its why; absent: nobody can tell */
  estimatedStart?: Time
  evaluatedAt: Time
  /** In its queue, from 1 */
  position?: number
  /** Every blocker, most severe first */
  reasons: PendingReason[]
  /** How many wait in its queue */
  waiting?: number
}

export interface PendingReason {
  /** Who can end it: time, whoever submitted it, or an administrator */
  act: "wait" | "change" | "ask"
  /** What that holds; devices in thousandths */
  allocated?: number
  /** The roomiest domains of the network */
  blocks?: Block[]
  /** Level of the network within which all must be, or each segment */
  domain?: string
  /** Nodes whose labels, taints or kind do not suit */
  excluded?: number
  /** How many of the tasks would fit now */
  fitting?: number
  /** In the unit of requested */
  free?: number
  /** Then: free of all GPUs together, in thousandths of one */
  freeParts?: number
  /** The next step */
  hint: string
  /** Label of nodes that a condition is about which none satisfies */
  label?: string
  /** Free on the best node, in the unit of requested */
  largest?: number
  /** Then: free of the freest GPU, in thousandths */
  largestPart?: number
  /** In the unit of requested */
  limit?: number
  message: string
  /** What nodes have that is written most like it, KEY=VALUE */
  nearest?: string
  /** By all tasks that start together, in the unit of requested */
  needed?: number
  /** No wait ends it: what is asked for, or what is allowed, has to change */
  never?: boolean
  /** Nodes that lack it */
  nodes?: number
  /** Nodes that were looked at */
  ofNodes?: number
  /** Where a part of each GPU is asked for: which, in thousandths */
  part?: number
  /** By its own wish it displaces nobody before */
  patient?: Time
  pool?: string
  /** Project or department whose quota or limit it is */
  queue?: string
  /** In the unit of requested */
  quota?: number
  /** By one task: devices, thousandths of cores, or bytes; of quotas and limits by all, devices in thousandths */
  requested?: number
  /** How much of that is reserved for workloads that wait for their checks, in the same unit */
  reserved?: number
  resource?: string
  /** Tasks of each segment, where these find no room; tasks and fitting are then of segments */
  segment?: number
  /** Its fair share at present, in the unit of requested */
  share?: number
  /** What keeps it off the nodes that have the label */
  taint?: string
  /** Tasks that start together */
  tasks?: number
  token: string
  /** In the unit of requested */
  total?: number
  /** GPU type asked for */
  type?: string
  /** When it ends by itself */
  until?: Time
  /** User whose limit it is */
  user?: string
}

export interface Phase {
  /** Nothing more happens by itself */
  end: boolean
  /** Nodes and devices are assigned */
  held: boolean
  meaning: string
  name: string
  /** Counts against the project's quota */
  quota: boolean
}

export interface Placement {
  devices?: string[]
  node: string
}

export interface Plan {
  /** The first few that go before it */
  ahead: RelatedWorkload[]
  /** What was looked at and is fine */
  checked: Checked[]
  /** What must be approved first */
  checks: string[]
  deadline?: DeadlineState
  displaces: RelatedWorkload[]
  /** When it is expected to start */
  estimate?: Estimate
  evaluatedAt: Time
  /** It could start now, be it once others have left */
  fits: boolean
  /** Those whose ends are expected to make its room */
  frees: RelatedWorkload[]
  /** Those who hold what the gravest reason is short of; of a limit those that count against it */
  holders: RelatedWorkload[]
  /** At once */
  now: boolean
  /** Where its tasks would be then, one for each; absent: nobody can tell */
  places?: Placement[]
  pool?: string
  /** In its queue, from 1 */
  position?: number
  /** Every blocker, most severe first */
  reasons: PendingReason[]
  /** Changes with which it would start now; each has been tried */
  suggestions: Suggestion[]
  /** Where its tasks would be */
  tasks: Placement[]
  /** How many wait in its queue */
  waiting?: number
}

export interface Policy {
  /** With dry_run: live workloads whose documents it would not let in today; they stay as they are */
  breaches?: PolicyBreach[]
  createdAt: Time
  /** Fields of a workload document, filled in where a document says nothing */
  defaults?: Record<string, unknown>
  description?: string
  /** Kind of workloads; all: every kind that has no rule of its own in the scope */
  for: "all" | "workspace" | "training" | "distributed" | "inference"
  /** Assets that every workload is given */
  impose?: PolicyImpose
  /** By field, as maps in maps or paths with dots: canEdit, required, min, max, step, options, defaultFrom; of maps and lists of items instances and attributes */
  rules?: Record<string, unknown>
  /** Project or department; '-': the system */
  scope: string
  updatedAt: Time
  /** Who made it */
  user: string
  /** From 1 */
  version: number
}

export interface PolicyBreach {
  errors: FieldProblem[]
  id: string
  kind: string
  name: string
  phase: string
  project: string
  user: string
}

export interface PolicyDerived {
  /** How many times the other field's value */
  factor: number
  field: string
}

export interface PolicyField {
  default?: unknown
  defaultFrom?: PolicySource
  /** A document that says it otherwise is refused */
  fixed?: boolean
  path: string
  rule?: PolicyRule
  ruleFrom?: PolicySource
  type: string
  /** What a document has that says nothing */
  usual?: unknown
}

export interface PolicyImpose {
  /** NAME, or NAME@VERSION */
  compute?: string
  /** Data sources and data volumes: names, or maps of name, path and readOnly */
  data?: unknown[]
  /** NAME, or NAME@VERSION */
  environment?: string
}

export interface PolicyImposed {
  /** NAME, or NAME@VERSION */
  compute?: string
  /** Data sources and data volumes: names, or maps of name, path and readOnly */
  data?: unknown[]
  /** NAME, or NAME@VERSION */
  environment?: string
  from: PolicySource
}

export interface PolicyInstances {
  /** false: no items beyond the default ones */
  canAdd?: boolean
  /** Keys of default items that may not be changed or left out */
  locked?: string[]
}

export interface PolicyList {
  items: Policy[]
}

export interface PolicyOption {
  /** What people are shown instead */
  displayed?: string
  value: unknown
}

export interface PolicyRule {
  attributes?: Record<string, PolicyRule>
  /** false: it stays as the default has it */
  canEdit?: boolean
  /** Of an attribute, for items that do not say it */
  default?: unknown
  defaultFrom?: PolicyDerived
  instances?: PolicyInstances
  max?: unknown
  min?: unknown
  options?: PolicyOption[]
  required?: boolean
  /** From min, else from 0 */
  step?: unknown
}

export interface PolicySource {
  /** The scope is a department */
  department?: boolean
  for: string
  scope: string
}

export interface PolicySpec {
  /** Fields of a workload document, filled in where a document says nothing */
  defaults?: Record<string, unknown>
  description?: string
  /** Assets that every workload is given */
  impose?: PolicyImpose
  /** By field, as maps in maps or paths with dots: canEdit, required, min, max, step, options, defaultFrom; of maps and lists of items instances and attributes */
  rules?: Record<string, unknown>
}

export interface Pool {
  /** Thousandths of cores */
  cpu: Amount
  /** Absent of default, and of pools that a backend names */
  createdAt?: Time
  /** Thousandths of devices */
  gpu: Amount
  /** Thousandths of devices whose workloads have let all their GPUs idle for 30 minutes or more */
  idleGpu: number
  /** Bytes */
  memory: Amount
  /** For how long what has started in it is not displaced */
  minRuntime?: string
  name: string
  nodes: number
  note?: string
  /** How its nodes are filled */
  placement?: PoolPlacement
  /** KEY=VALUE: the label that gathers its nodes; default has none */
  selector?: string
  /** Thousandths of devices on nodes that are cordoned or drained */
  shutGpu: number
  /** Labels of its nodes from the widest domain to the narrowest */
  topology?: string[]
  /** In answers to changes: what is allowed and perhaps not meant */
  warnings?: string[]
}

export interface PoolList {
  items: Pool[]
  next: string
}

export interface PoolPlacement {
  /** By work without */
  cpu?: "fill" | "binpack" | "spread" | ""
  /** By work with GPUs */
  gpu?: "fill" | "binpack" | "spread" | ""
}

export interface PoolQuota {
  /** In cores */
  cpu?: ResourceQuota
  /** In devices; fractions are allowed */
  gpu?: ResourceQuota
  memory?: MemoryQuota
}

export interface PoolSpec {
  /** For how long what has started in it is not displaced */
  minRuntime?: string
  note?: string
  /** How its nodes are filled */
  placement?: PoolPlacement
  /** KEY=VALUE: the label that gathers its nodes; default has none */
  selector?: string
  /** Labels of its nodes from the widest domain to the narrowest */
  topology?: string[]
}

export interface PreemptOptions {
  /** Why; kept in the history */
  message?: string
  /** Only these tasks of an array, each of which runs again in the same attempt; the others go on. Not to move */
  tasks?: number[]
}

export interface Preview {
  at: Time
  /** What would be another */
  items: AppliedItem[]
  /** Who would have to make room with the changes, and not without */
  leaves: RelatedWorkload[]
  /** How everybody would stand, as far as that would be another */
  standing: StandingShift[]
  /** Who would start with the changes, and does not without */
  starts: RelatedWorkload[]
  /** Who is about to make room, and would not with the changes */
  stays: RelatedWorkload[]
  /** Who is about to start, and would not with the changes */
  waits: RelatedWorkload[]
}

export interface Price {
  /** From then on; absent: ever since */
  from?: Time
  /** As documents ask for one, like H100; absent: any */
  gpuType?: string
  /** Money for an hour of a whole GPU */
  perGpuHour: number
  /** Absent: of any */
  pool?: string
}

export interface Prices {
  /** How amounts of money are named */
  currency?: string
  /** The one that says most of a GPU counts, a pool more than a type, and of several the last that has begun */
  items: Price[]
  /** Number of what was read; who replaces prices that others have changed meanwhile is refused */
  version: number
}

export interface Problem {
  /** Stable token: invalid, not_found, conflict, illegal_phase, unschedulable, unsupported, unavailable, too_often, disk_full, no_logs, internal */
  code: string
  detail?: string
  /** One for each wrong field */
  errors?: FieldProblem[]
  /** The next step */
  hint?: string
  status: number
  title: string
  type?: string
}

export interface Progress {
  at: Time
  attempt: number
  message?: string
  /** Numbers by name, such as loss; at most 100 */
  metrics?: Record<string, number>
  step: number
  /** Index of the task that says so */
  task?: number
  /** Steps in all; 0: unknown */
  total?: number
}

export interface Project {
  /** How long work may last at most, by its maxDuration or a time limit, that uses more than the quota; empty: as above it, else any time */
  borrowingTimeLimit?: string
  /** GPU-hours that may be used in every budgetPeriod */
  budgetGpuHours?: number
  /** Like 30d */
  budgetPeriod?: string
  /** How much it may use, each by itself; GET /v1/budgets says how they stand */
  budgets?: Budget[]
  /** Checks of every workload, each as in a document's checks */
  checks?: unknown
  createdAt?: Time
  department?: boolean
  /** What holds for what is submitted now, with what stands above it; absent: no such rule */
  effective?: EffectiveRules
  /** Ends what has let all its GPUs idle for so long, by kind; KIND-preemptible and KIND-non-preemptible are of some of a kind */
  idleLimit?: Record<string, string>
  /** Workloads that have not started; one more is refused. 0: any */
  maxQueued?: number
  /** Workloads at once; 0: any */
  maxRunning?: number
  name: string
  /** Node types that its workloads may use, by kind */
  nodeTypes?: Record<string, string[] | null>
  /** Why it is stopped; shown to whoever waits */
  note?: string
  /** The department that it stands below; empty: none */
  parent?: string
  /** Where its workloads go whose documents name no pool, in order */
  poolOrder?: string[]
  /** What it may use of each pool, by name; * stands for all that are not named. Where nothing is said it may use everything */
  pools?: Record<string, PoolQuota>
  /** For how long what has started is let alone by higher priorities of its own queue; empty: as above it */
  preemptMinRuntime?: string
  /** Rank among its siblings: what is left over quota goes to the highest first; default 100 */
  priority?: number
  /** The same for other queues */
  reclaimMinRuntime?: string
  /** hold: nothing new starts; hold-and-drain: what runs goes back to its queue too; empty: open */
  stopMode?: "hold" | "hold-and-drain" | ""
  /** It takes nothing at present: it, or what is above it, is stopped */
  stopped: boolean
  /** The department that stops it, where it is not stopped itself */
  stoppedBy?: string
  /** Ends what has run for so long, by kind */
  timeLimit?: Record<string, string>
  /** What each user may have in it at once */
  userLimit?: UserLimit
  /** In answers to changes: what is allowed and perhaps not meant */
  warnings?: string[]
}

export interface ProjectList {
  items: Project[]
  next: string
}

export interface ProjectOptions {
  /** hold (default): nothing new starts; hold-and-drain: what runs goes back to its queue too */
  mode?: "hold" | "hold-and-drain" | ""
  /** Why; shown to whoever waits */
  note?: string
}

export interface ProjectRules {
  /** GPU-hours that may be used in every budgetPeriod */
  budgetGpuHours?: number
  /** Like 30d */
  budgetPeriod?: string
  /** Checks of every workload, each as in a document's checks */
  checks?: unknown
  /** Ends what has let all its GPUs idle for so long, by kind; KIND-preemptible and KIND-non-preemptible are of some of a kind */
  idleLimit?: Record<string, string>
  /** Ends what has run for so long, by kind */
  timeLimit?: Record<string, string>
}

export interface ProjectSpec {
  /** How long work may last at most, by its maxDuration or a time limit, that uses more than the quota; empty: as above it, else any time */
  borrowingTimeLimit?: string
  /** GPU-hours that may be used in every budgetPeriod */
  budgetGpuHours?: number
  /** Like 30d */
  budgetPeriod?: string
  /** How much it may use, each by itself; GET /v1/budgets says how they stand */
  budgets?: Budget[]
  /** Checks of every workload, each as in a document's checks */
  checks?: unknown
  /** Ends what has let all its GPUs idle for so long, by kind; KIND-preemptible and KIND-non-preemptible are of some of a kind */
  idleLimit?: Record<string, string>
  /** Workloads that have not started; one more is refused. 0: any */
  maxQueued?: number
  /** Workloads at once; 0: any */
  maxRunning?: number
  /** Node types that its workloads may use, by kind */
  nodeTypes?: Record<string, string[] | null>
  /** Why it is stopped; shown to whoever waits */
  note?: string
  /** The department that it stands below; empty: none */
  parent?: string
  /** Where its workloads go whose documents name no pool, in order */
  poolOrder?: string[]
  /** What it may use of each pool, by name; * stands for all that are not named. Where nothing is said it may use everything */
  pools?: Record<string, PoolQuota>
  /** For how long what has started is let alone by higher priorities of its own queue; empty: as above it */
  preemptMinRuntime?: string
  /** Rank among its siblings: what is left over quota goes to the highest first; default 100 */
  priority?: number
  /** The same for other queues */
  reclaimMinRuntime?: string
  /** hold: nothing new starts; hold-and-drain: what runs goes back to its queue too; empty: open */
  stopMode?: "hold" | "hold-and-drain" | ""
  /** Ends what has run for so long, by kind */
  timeLimit?: Record<string, string>
  /** What each user may have in it at once */
  userLimit?: UserLimit
}

export interface Published {
  digest?: string
  files?: number
  /** Name of the artifact */
  ref?: string
  /** Name of the workload that serves it */
  service?: string
  sizeBytes?: number
}

export interface Pull {
  /** Downloaded; layers that were there before count as whole */
  bytes: number
  /** Of the image */
  layers: number
  /** Layers that are there */
  layersDone: number
  /** Of all layers */
  totalBytes: number
}

export interface Redelivery {
  id: string
}

export interface RelatedWorkload {
  /** Of one that would be displaced: by which right */
  cause?: string
  /** In one case of ten it has ended by then */
  early?: Time
  /** When it is likely to end */
  end?: Time
  /** That it holds, be it parts; of one that holds none: that it asks for */
  gpus: number
  id: string
  /** In nine cases of ten it has ended by then */
  late?: Time
  name: string
  project: string
  /** Of its phase */
  since?: Time
  /** When it is likely to start */
  start?: Time
  /** That hold something */
  tasks?: number
  user: string
}

export interface Replicas {
  /** Of the document, from 0; grows with every update */
  generation: number
  /** Replicas that take requests */
  ready: number
  /** Replicas that have started, ready or not */
  running: number
  /** Replicas of the present generation */
  updated: number
  /** The one stable address, which balances over ready replicas */
  url?: string
  /** Replicas that there are to be */
  wanted: number
}

export interface Report {
  message?: string
  /** Numbers by name, such as loss; at most 100 */
  metrics?: Record<string, number>
  step: number
  /** Index of the task that says so */
  task?: number
  /** Steps in all; 0: unknown */
  total?: number
}

export interface ReportMail {
  email: string
  week: string
}

export interface ReportRow {
  /** Unit: the currency, at the prices that held */
  cost: number
  department?: string
  /** Of lostGpuHours those of attempts that had to leave for others, or with their node; the rest failed */
  displacedGpuHours?: number
  /** Workloads that ended in that time, by phase */
  ends?: Record<string, number>
  /** GPU-hours that were charged in that time */
  gpuHours: number
  /** As devices call themselves; empty: not known */
  gpuType?: string
  /** GPU-hours while the GPU was seen doing nothing, in the last day */
  idleGpuHours?: number
  /** GPU-hours of attempts that failed or had to leave, since the last checkpoint that is known */
  lostGpuHours?: number
  /** From the submission, or the return to the queue, until the start of an attempt in that time */
  meanWaitSeconds: number
  pool?: string
  project?: string
  user?: string
  /** So long or less 95 of 100 waited */
  wait95Seconds: number
  /** Of how many starts the waits are */
  waits: number
  /** That had GPUs in that time, or were submitted in it */
  workloads: number
}

export interface ReportRun {
  /** Unit: the currency, at the prices that held */
  cost: number
  /** GPU-hours that were charged in that time */
  gpuHours: number
  id: string
  /** GPU-hours of its attempts that failed or had to leave, since the last checkpoint that is known */
  lostGpuHours?: number
  name: string
  /** At present */
  phase: string
  project: string
  user: string
}

export interface Reported {
  /** What is not known, and why, a sentence each */
  missing: string[]
  series: ReportedSeries[]
}

export interface ReportedSeries {
  /** Of each point when its last report came, in seconds since 1970 */
  atSeconds: number[]
  attempt: number
  /** Of the workload */
  id: string
  /** The newest report, in the unit of the metric */
  last: number
  /** Of all reports, in the unit of the metric */
  max: number
  /** The step of the greatest report */
  maxStep: number
  /** As the task calls it, such as loss; empty: the step itself */
  metric: string
  /** Of all reports, in the unit of the metric */
  min: number
  /** The step of the least report */
  minStep: number
  /** How many there have been in all */
  reports: number
  /** Of each point the step at which it ends */
  steps: number[]
  /** Index of the task */
  task: number
  /** Of each point the mean of its reports, in the unit of the metric */
  values: number[]
}

export interface Reservation {
  createdAt?: Time
  /** For how long, like 2h */
  duration?: string
  /** When its present or next time begins; of one that is over, its last */
  from: Time
  /** Thousandths of the devices that these have */
  gpu: number
  /** As many whole nodes of the pool as have so many GPUs */
  gpus?: number
  /** What runs when it begins is left to its end, preemptible or not */
  ignoreJobs?: boolean
  /** The nodes that it keeps */
  keeps: string[]
  /** Those for whom it is need not name it */
  magnetic?: boolean
  /** It is for nobody: the nodes are worked on */
  maintenance?: boolean
  name: string
  /** So many nodes of the pool; which they are is chosen when it is made */
  nodeCount?: number
  /** The nodes that it keeps, by name */
  nodes?: string[]
  /** What it is for; shown to whoever waits */
  note?: string
  /** All nodes of this pool, or as many as nodeCount or gpus say */
  pool?: string
  /** It is for work of these projects, or of projects below these departments */
  projects?: string[]
  /** It comes again every 24 hours, or every 7 times that; empty: only once */
  repeat?: "daily" | "weekly" | ""
  /** KEY=VALUE: all nodes that have this label */
  selector?: string
  /** When it begins, like 2026-12-24T18:00:00Z */
  start?: string
  /** planned: it has not begun; active: it has; over: it does not come again */
  state: "planned" | "active" | "over"
  /** When that ends */
  until: Time
  /** It is for work of these users */
  users?: string[]
  /** PROJECT/NAME of the live workloads that name it */
  using?: string[]
  /** In answers to changes: what is allowed and perhaps not meant, such as what runs on its nodes and is not over in time */
  warnings?: string[]
}

export interface ReservationList {
  items: Reservation[]
  next: string
}

export interface ReservationSpec {
  /** For how long, like 2h */
  duration?: string
  /** As many whole nodes of the pool as have so many GPUs */
  gpus?: number
  /** What runs when it begins is left to its end, preemptible or not */
  ignoreJobs?: boolean
  /** Those for whom it is need not name it */
  magnetic?: boolean
  /** It is for nobody: the nodes are worked on */
  maintenance?: boolean
  /** So many nodes of the pool; which they are is chosen when it is made */
  nodeCount?: number
  /** The nodes that it keeps, by name */
  nodes?: string[]
  /** What it is for; shown to whoever waits */
  note?: string
  /** All nodes of this pool, or as many as nodeCount or gpus say */
  pool?: string
  /** It is for work of these projects, or of projects below these departments */
  projects?: string[]
  /** It comes again every 24 hours, or every 7 times that; empty: only once */
  repeat?: "daily" | "weekly" | ""
  /** KEY=VALUE: all nodes that have this label */
  selector?: string
  /** When it begins, like 2026-12-24T18:00:00Z */
  start?: string
  /** It is for work of these users */
  users?: string[]
}

export interface ResourceQuota {
  /** In GPUs or cores: of quota, what others may use at most while it does not; the rest is kept for it. Absent: all of it */
  lendingLimit?: number
  /** In GPUs or cores; never exceeded. Absent: no bound */
  limit?: number
  /** Promised, in GPUs or cores; what is over it is lent and can be taken back. Absent: no bound */
  quota?: number
  /** Part of what nobody is promised, a proportion against its siblings: 0 lowest, 1 low, 2 medium (default), 3 high */
  weight?: number
}

export interface RestartOptions {
  /** Only these tasks of an array, which have ended: while it goes on, or once all others have succeeded */
  tasks?: number[]
}

export interface ReviewedImage {
  at: Time
  /** As it is remembered: with its tag, its digest, or its repository alone */
  image: string
  /** Who approved it last */
  user: string
}

export interface ReviewedImageList {
  items: ReviewedImage[]
}

export interface Role {
  /** Roles that who has this one, and may create access rules, may give beside those that allow nothing more than they may do */
  assigns?: string[]
  createdAt?: Time
  createdBy?: string
  description?: string
  name: string
  /** VERB:NOUN, or VERB:NOUN:own for what is the subject's own; * stands for all */
  permissions: string[]
  predefined?: boolean
}

export interface RoleList {
  items: Role[]
}

export interface Row {
  allowedActions: string[]
  /** Its tasks run one by one, each for itself */
  array?: boolean
  /** Number of the present attempt, from 0 */
  attempt: number
  /** Types of its conditions */
  conditions?: string[]
  createdAt: Time
  endedAt?: Time
  /** Of its last attempt */
  exitCode?: number
  gpuType?: string
  /** GPUs that it asks for, over all tasks; parts count as such */
  gpus: number
  /** GPUs that its tasks hold at present */
  gpusHeld?: number
  id: string
  kind: string
  labels?: Record<string, string>
  message?: string
  name: string
  nodeCount?: number
  /** Where its tasks are, at most 16 */
  nodes?: string[]
  /** In the order of submission, from 1 */
  number: number
  /** This change does not say where its tasks are: there, or where they were before */
  partial?: boolean
  phase: string
  preemptible: boolean
  priority: number
  project: string
  /** For how long its attempts ran, but for one that goes on */
  ranSeconds?: number
  reason?: string
  revision: number
  /** Since when the present attempt runs, as long as it does */
  runningAt?: Time
  since: Time
  startedAt?: Time
  /** How far it has come */
  step?: number
  /** Of how many */
  steps?: number
  target?: string
  tasks: TaskCounts
  user: string
  /** Why, in the words of those platforms that say it, by dialect */
  wordReasons?: Record<string, string>
  /** The same in the words of other platforms, by dialect */
  words: Record<string, string>
}

export interface RowList {
  items: Row[]
  /** cursor of the next page; empty on the last */
  next: string
  /** A stream that begins after it misses nothing that this page does not have */
  revision: number
}

export interface Rule {
  event: string
  from: string[]
  /** What may follow Terminating */
  targets?: string[]
  to: string
  when?: string
}

export interface Saved {
  at: Time
  step?: number
}

export interface ScaleOptions {
  /** Why; kept in the history */
  message?: string
  replicas: number
}

export interface Schedule {
  /** What becomes of a run that is due while one before it has not ended: it starts beside it (allow, the default), waits for its end (forbid), or has it stopped (replace) */
  concurrency?: "allow" | "forbid" | "replace" | ""
  createdAt: Time
  /** When it runs: minute, hour, day of the month, month and day of the week, each '*', numbers, names, ranges a-b, steps * /n and lists of these; or @hourly, @daily, @weekly, @monthly, @yearly */
  cron: string
  description?: string
  /** Workload document of its runs, without name and project; the assets that it names are taken anew for each run */
  document: Record<string, unknown>
  /** What has become of times that had no run, or not the usual one: the last 20, oldest first */
  events: ScheduleEvent[]
  /** How many runs that have completed are kept, the newest; by default 3. Older ones are deleted */
  keepCompleted?: number
  /** How many runs that have ended otherwise are kept, the newest; by default 1 */
  keepFailed?: number
  /** The last of its times that had a run */
  last?: Time
  /** Lower-case letters, digits and '-', at most 39 characters: its runs are called NAME-202612310200, by their time in UTC */
  name: string
  /** Its next three times; none while it is suspended */
  next: Time[]
  project: string
  /** Its runs that there are, oldest first */
  runs: ScheduledRun[]
  /** A run that cannot start within this of its time is given up; empty: it starts however late it is */
  startingDeadline?: string
  /** It starts no runs by itself */
  suspended?: boolean
  /** By whose clocks, as the IANA list names it; empty: UTC */
  timeZone?: string
  /** Who said last what it runs: its runs are theirs, and may do what they may at the time */
  user: string
  /** Of the document, from 1 */
  version: number
  /** In answers to changes: what is allowed and perhaps not meant */
  warnings?: string[]
  /** Kind of its workloads */
  workloadKind: string
}

export interface ScheduleEvent {
  /** When that was seen, the last time */
  at: Time
  /** How often in a row */
  count: number
  /** The time of the run that it is about */
  due: Time
  message: string
  /** Refused: the workload was not accepted; TooLate: it would have started after startingDeadline; Held: a run before it has not ended; Replaced: those before it were stopped for it; Missed: several times had come at once, and only the last has a run */
  what: "Refused" | "TooLate" | "Held" | "Replaced" | "Missed"
}

export interface ScheduleList {
  items: Schedule[]
}

export interface ScheduleSpec {
  /** What becomes of a run that is due while one before it has not ended: it starts beside it (allow, the default), waits for its end (forbid), or has it stopped (replace) */
  concurrency?: "allow" | "forbid" | "replace" | ""
  /** When it runs: minute, hour, day of the month, month and day of the week, each '*', numbers, names, ranges a-b, steps * /n and lists of these; or @hourly, @daily, @weekly, @monthly, @yearly */
  cron: string
  description?: string
  /** Workload document of its runs, without name and project; the assets that it names are taken anew for each run */
  document: Record<string, unknown>
  /** How many runs that have completed are kept, the newest; by default 3. Older ones are deleted */
  keepCompleted?: number
  /** How many runs that have ended otherwise are kept, the newest; by default 1 */
  keepFailed?: number
  /** A run that cannot start within this of its time is given up; empty: it starts however late it is */
  startingDeadline?: string
  /** It starts no runs by itself */
  suspended?: boolean
  /** By whose clocks, as the IANA list names it; empty: UTC */
  timeZone?: string
}

export interface ScheduledRun {
  createdAt: Time
  /** The time that it was started for; absent: somebody asked for it */
  due?: Time
  endedAt?: Time
  id: string
  name: string
  phase: string
}

export interface ScopeCheck {
  /** How many different people have to approve; by default 1 */
  approvals?: number
  /** Certificates in PEM by which the program is known, instead of the machine's */
  ca?: string
  createdAt: Time
  description?: string
  /** What is done then: it counts as rejected (the default), or approvals are asked for anew */
  expired?: "reject" | "again"
  /** Patterns of images that it is about, with * for any text; none: all */
  images?: string[]
  /** Kinds of workloads that it is about; none: all */
  kinds?: string[]
  /** Only workloads that ask for so many GPUs in all, with fractions */
  minGpus?: number
  name: string
  /** Not who has submitted it, nor another in their place */
  notSubmitter?: boolean
  /** What an approval holds for: the image as it is named (the default), every image of its repository, or only what is named by digest */
  remember?: "image" | "repository" | "digest"
  /** Who has this role where the workload is may decide */
  role?: string
  /** Project or department; '-': the system */
  scope: string
  /** Secret of who sets the check, with the keys that sign questions (Standard Webhooks) */
  secret?: string
  /** Whose secret signs questions */
  secretOf?: string
  /** How long one question may take, like 5s; by default 10s */
  timeout?: string
  /** Questions in a row without an answer before it lets through; by default 3 */
  tries?: number
  /** Patterns of images that need no review */
  trusted?: string[]
  /** People approve, a program is asked, or people look at images before their first use */
  type: "approval" | "webhook" | "image"
  /** Where there is no answer: lets through after some tries, or asks on (the default) */
  unanswered?: "open" | "closed"
  /** Why what it asks cannot be read; until it is set anew whoever may approve is asked */
  unread?: string
  updatedAt: Time
  /** Where the question is posted, of type webhook */
  url?: string
  /** Who made it */
  user: string
  /** Who may decide, beside those with the role; with neither whoever may approve workloads there */
  users?: string[]
  /** From 1 */
  version: number
  /** Before it is queued, or once its quota is reserved; by default queue */
  when?: "queue" | "reservation"
  /** How long there is to decide, like 24h; by default there is no end */
  within?: string
}

export interface ScopeCheckList {
  items: ScopeCheck[]
}

export interface ScopeCheckSpec {
  /** How many different people have to approve; by default 1 */
  approvals?: number
  /** Certificates in PEM by which the program is known, instead of the machine's */
  ca?: string
  description?: string
  /** What is done then: it counts as rejected (the default), or approvals are asked for anew */
  expired?: "reject" | "again"
  /** Patterns of images that it is about, with * for any text; none: all */
  images?: string[]
  /** Kinds of workloads that it is about; none: all */
  kinds?: string[]
  /** Only workloads that ask for so many GPUs in all, with fractions */
  minGpus?: number
  /** Not who has submitted it, nor another in their place */
  notSubmitter?: boolean
  /** What an approval holds for: the image as it is named (the default), every image of its repository, or only what is named by digest */
  remember?: "image" | "repository" | "digest"
  /** Who has this role where the workload is may decide */
  role?: string
  /** Secret of who sets the check, with the keys that sign questions (Standard Webhooks) */
  secret?: string
  /** How long one question may take, like 5s; by default 10s */
  timeout?: string
  /** Questions in a row without an answer before it lets through; by default 3 */
  tries?: number
  /** Patterns of images that need no review */
  trusted?: string[]
  /** People approve, a program is asked, or people look at images before their first use */
  type: "approval" | "webhook" | "image"
  /** Where there is no answer: lets through after some tries, or asks on (the default) */
  unanswered?: "open" | "closed"
  /** Where the question is posted, of type webhook */
  url?: string
  /** Who may decide, beside those with the role; with neither whoever may approve workloads there */
  users?: string[]
  /** Before it is queued, or once its quota is reserved; by default queue */
  when?: "queue" | "reservation"
  /** How long there is to decide, like 24h; by default there is no end */
  within?: string
}

export interface Secret {
  createdAt: Time
  /** Who made it, where it is not a user's own */
  createdBy?: string
  everywhere?: boolean
  fields?: Record<string, string>
  name: string
  /** Project or department whose it is, for all who submit there; '-': the system; empty: a user's own */
  project?: string
  type: string
}

export interface SecretList {
  items: Secret[]
  next: string
}

export interface ServerStatus {
  address: string
  /** It has no records, and waits for those of another machine; until then it answers nothing else */
  awaitsMove?: boolean
  dataDir: string
  fakeGpus?: number
  /** Number of its database's format; of one that awaits a move: up to which it reads */
  format?: number
  /** Name that its records were given when they began */
  installation?: string
  /** What was moved to it */
  moved?: Moved
  pid: number
  startedAt: Time
  version: string
}

export interface Session {
  by: "socket" | "token" | "browser"
  /** Of a browser's: it must log in again by then */
  expiresAt?: Time
  /** URL at which the browser ends its session at the identity provider too */
  signOut?: string
  user: string
  /** Of the server */
  version: string
}

export interface Share {
  /** Who made it */
  by: string
  /** The one number that it shows */
  chart?: string
  created: Time
  expires: Time
  id: string
  /** Whether it shows the end of the output, too */
  logs?: boolean
  name: string
  /** How often it was opened since the server began */
  opened: number
  /** Below the server's address; told once, when it is made: only its hash is kept */
  path?: string
  project: string
  /** Its id */
  workload: string
}

export interface ShareList {
  items: Share[]
}

export interface SignInAnswer {
  code?: string
  device?: string
  flow?: string
  password?: string
  state?: string
  user?: string
}

export interface SignInWays {
  /** What the directory is called that knows people's passwords; absent: there is none */
  directory?: string
  /** What the identity provider is called; absent: there is none */
  provider?: string
}

export interface SignedIn {
  /** By how much longer to wait from now on between two questions */
  intervalSeconds?: number
  /** Ask again */
  pending?: boolean
  token?: MadeToken
}

export interface Slowest {
  /** Whether it is so far below the others that they are likely to wait for it */
  behind: boolean
  /** Of all tasks, in the unit of the metric */
  median: number
  message: string
  /** By which: gpu_utilization_ratio, or cpu_cores where there are no GPUs */
  metric: string
  node: string
  role: string
  /** Index of the task */
  task: number
  /** In the unit of the metric */
  value: number
}

export interface SpanOfUse {
  /** Milliseconds since the Unix epoch */
  from: number
  /** It has not begun */
  likely?: boolean
  /** In thousandths */
  part: number
  /** Index of the task; -1: of what is yet to start */
  task: number
  /** Milliseconds since the Unix epoch; absent: no end is known */
  to?: number
  /** Its place in workloads, from 0 */
  workload: number
}

export interface Stage {
  /** The first time */
  at: Time
  /** How often */
  count: number
  /** The last time */
  last: Time
  /** What was said with it, the last time */
  message?: string
  /** As Kubernetes says it: Init:0/1, PodInitializing, ErrImagePull … */
  word: string
}

export interface Standing {
  /** In cores */
  cpu: Use
  department?: boolean
  /** In devices */
  gpu: Use
  /** In bytes */
  memory: Use
  parent?: string
  pool: string
  project: string
  /** Workloads that wait and would go to this pool first */
  queued: number
  /** GPUs that these ask for */
  queuedGpus: number
}

export interface StandingList {
  at: Time
  items: Standing[]
  next: string
}

export interface StandingShift {
  after: Standing
  before: Standing
}

export interface StartedDevice {
  /** URL at which the code is entered */
  address: string
  /** URL with the code in it */
  complete?: string
  /** Is sent to ask whether the sign-in is done */
  device: string
  expiresAt: Time
  /** Between two questions */
  intervalSeconds: number
  userCode: string
}

export interface StartedSignIn {
  /** URL to be opened in the browser */
  address: string
  expiresAt: Time
  /** Is sent back with what the provider has answered: only who began can finish */
  flow: string
  /** What the provider has to send back */
  state: string
}

export interface Status {
  code?: number
  color?: string
  end: boolean
  reason?: string
  status: string
}

export interface StepImage {
  /** Files of the machine that programs for its GPUs need */
  driver?: StepMount[]
  entrypoint?: string[]
  /** NAME=value */
  env?: string[]
  /** Directories on the task's machine, lowest first */
  layers: string[] | null
  workdir?: string
}

export interface StepImageRequest {
  /** Such as nvcr.io/nvidia/pytorch:24.10-py3 */
  image: string
  /** Index of the task on whose machine it is needed */
  task: number
}

export interface StepMount {
  source: string
  target: string
}

export interface StopOptions {
  /** Instead of the workload's own, like 5s */
  gracePeriod?: string
  /** Why; kept in the history */
  message?: string
  /** Only these tasks of an array; the others go on */
  tasks?: number[]
}

export interface Stretch {
  /** Milliseconds since the Unix epoch */
  from: number
  /** Milliseconds since the Unix epoch */
  to: number
}

export interface Suggestion {
  displaces: RelatedWorkload[]
  /** Of muster run */
  flags: string
  /** At once; else once those have left whom it displaces */
  now: boolean
  pool?: string
}

export interface Taint {
  effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute"
  key: string
  value?: string
}

export interface Task {
  /** GPUs that it holds */
  devices?: string[]
  endedAt?: Time
  /** 128 + signal when a signal ended it */
  exitCode?: number
  /** Of the document that it was started from */
  generation?: number
  /** Of the image that it runs in, or ran in */
  imageDigest?: string
  index: number
  /** It is not wanted any more, or not there */
  leaving?: boolean
  message?: string
  /** What its maker calls it, where that is someone else: namespace/pod */
  name?: string
  node?: string
  placedAt?: Time
  /** Its own port */
  port?: number
  /** How far its image is, while that is pulled */
  pull?: Pull
  /** A replica that takes requests */
  ready?: boolean
  reason?: string
  /** When it is started again in place */
  restartAt?: Time
  restarts?: number
  role: string
  /** How often it had to leave in the attempt before this run */
  run?: number
  /** Part that it holds of each of its devices, from 0.001 to 1; 1: whole ones */
  share?: number
  signal?: number
  /** What it waited with while it started, beside that its container was made, in the order in which that came first */
  stages?: Stage[]
  startedAt?: Time
  state: "pending" | "starting" | "running" | "stopping" | "succeeded" | "failed" | "lost"
  /** What srun has started in the batch script that it runs, in the order of their numbers; at most 500 are kept. Not in summaries */
  steps?: JobStep[]
  waiting?: string
}

export interface TaskCounts {
  /** Tasks of an array that were stopped by themselves */
  canceled?: number
  /** Tasks in this state */
  failed: number
  /** Tasks in this state */
  pending: number
  /** Tasks in this state */
  running: number
  /** Tasks in this state */
  starting: number
  /** Tasks in this state */
  stopping: number
  /** Tasks in this state */
  succeeded: number
  /** Tasks of the attempt */
  total: number
}

export interface TaskPage {
  /** Tasks of the attempt by state */
  counts: Record<string, number>
  /** By index, each by its last run; in the order that was asked for */
  items: Task[]
  /** cursor of the next page; empty on the last */
  next: string
  /** Tasks that fit what was asked for, on all pages */
  total: number
}

export interface TaskStates {
  attempt: number
  /** A letter of each task, by index: p pending, s starting, r running, e stopping, d succeeded, f failed, l lost; -, or beyond the end: not there yet */
  states: string
}

export interface Template {
  createdAt: Time
  description?: string
  /** Fields of a workload document; of an environment image, command, env, volumes and the like, of a compute resource resources and tolerations, of a data source volumes, integrations, secrets and env, of a data volume volumes */
  document: Record<string, unknown>
  /** Who may change it beside its user; *: everyone */
  editors?: string[]
  /** Name of an environment that a template builds upon */
  environment?: string
  kind: "template" | "environment" | "compute" | "datasource" | "datavolume"
  name: string
  /** Or department; '-': it is there for all projects */
  project: string
  /** Projects and departments elsewhere that may use it too, without writing to it; of a data volume alone */
  sharedWith?: string[]
  updatedAt: Time
  /** Who made it */
  user: string
  /** Of the document, from 1 */
  version: number
  /** Those that are remembered, oldest first */
  versions: TemplateVersion[]
}

export interface TemplateList {
  items: Template[]
}

export interface TemplateVersion {
  at: Time
  /** Who made it so */
  user: string
  version: number
}

export type Time = string

export interface Token {
  /** The session is a browser's */
  browser?: boolean
  createdAt: Time
  createdBy?: string
  expired?: boolean
  /** Absent: never */
  expiresAt?: Time
  id: string
  note?: string
  /** What it allows at most; absent: all that its user may do */
  permissions?: string[]
  /** URL of the identity provider by which its user signed in: the token is a session. Absent: it was made */
  provider?: string
  /** Project or department in which it is good; absent: everywhere */
  scope?: string
  /** When it was shown last, to within five minutes */
  usedAt?: Time
  /** Or service account */
  user: string
}

export interface TokenList {
  items: Token[]
}

export interface Transition {
  /** user:NAME, scheduler, backend:NODE or control */
  actor: string
  at: Time
  attempt: number
  /** On whose account it left its place or was ended: reclaim, preempt, consolidation, relieve, reservation, stalegangeviction, drain, budget, person; stop, limit, deadline, check, maker. Empty: nobody's, or a step of an older server */
  cause?: "reclaim" | "preempt" | "consolidation" | "relieve" | "reservation" | "stalegangeviction" | "drain" | "budget" | "person" | "stop" | "limit" | "deadline" | "check" | "maker"
  event: string
  /** Id of the workload that got its room */
  for?: string
  from: string
  message?: string
  reason?: string
  /** Order over all workloads */
  seq: number
  target?: string
  to: string
  /** Of the dialect that was asked for, in the state that it led to */
  word?: string
  /** Id; in histories only */
  workload?: string
}

export interface TransitionList {
  items: Transition[]
  /** after of the next page; empty when there is none yet */
  next: string
}

export interface Usage {
  /** Begin of the span, where they are split by time */
  bucket?: Time
  /** Unit: the currency, at the prices that held */
  cost?: number
  gpuSeconds: number
  /** Of the workload */
  id?: string
  /** Of these, while the GPU was seen doing nothing, in the last day; where waste was asked for */
  idleGpuSeconds?: number
  /** Of these, by attempts that failed or had to leave, since the last checkpoint that is known; where waste was asked for */
  lostGpuSeconds?: number
  project?: string
  user?: string
  workload?: string
  /** How many workloads it is of */
  workloads: number
}

export interface UsageList {
  /** Absent where nothing costs anything */
  currency?: string
  from: Time
  idleGpuSeconds?: number
  items: Usage[]
  lostGpuSeconds?: number
  /** What of the waste is not known, and why, a sentence each */
  missing?: string[]
  next: string
  to: Time
  /** Unit: the currency */
  totalCost?: number
  totalGpuSeconds: number
}

export interface UsageReport {
  by: string[]
  currency?: string
  from: Time
  /** The most GPU-hours first */
  items: ReportRow[]
  /** The workloads that had most GPU-hours, at most 10 */
  largest: ReportRun[]
  /** What is not known, and why, a sentence each */
  missing?: string[]
  next: string
  to: Time
  total: ReportRow
  /** For what workloads waited in queues in that time, the most hours first; what was counted every few seconds while the server ran, in the last 35 days */
  waited: WaitedFor[]
}

export interface Use {
  /** What it is due at present, in the unit of the resource: its quota as far as it wants it, and its part of what others do not want */
  fairShare: number
  /** Of used, what is not preemptible, in the same unit */
  fixed: number
  /** Its quota, in the unit of the resource; absent: no bound */
  guaranteed?: number
  /** Of the quota, what it does not use and does not lend, in the same unit */
  kept: number
  /** Of the quota, what it does not use and others may, or do, in the same unit */
  lendable: number
  /** In the unit of the resource; absent: all of the quota may be lent */
  lendingLimit?: number
  /** In the unit of the resource; absent: no bound */
  limit?: number
  /** Of used and reserved, what is over the quota and can be taken back, in the same unit */
  over: number
  /** By workloads that are Reserved, in the unit of the resource: it counts like what is used, and no place is kept for it */
  reserved: number
  /** used and reserved in proportion to guaranteed; absent where nothing is guaranteed */
  share?: number
  /** By tasks that have a place, in the unit of the resource */
  used: number
  /** A proportion against its siblings */
  weight: number
}

export interface User {
  /** Theirs at an identity provider; absent: they do not sign in by one */
  account?: Account
  createdAt: Time
  createdBy?: string
  /** Is let in by no way */
  disabled?: boolean
  groups?: string[]
  kind: "user" | "service-account"
  name: string
  note?: string
  /** Account of the server's machine that their tasks run as, where tasks run as who submits them */
  osUser?: string
}

export interface UserBound {
  createdAt?: Time
  /** Devices; absent: any */
  gpu?: number
  /** Workloads that have not started; one more is refused. 0: any */
  maxQueued?: number
  /** Workloads; 0: any */
  maxRunning?: number
  /** Of the user; * for each who has no limit of their own */
  name: string
  /** What it is for */
  note?: string
  /** Workloads that have not started; 0 for * */
  queued: number
  /** Workloads that hold something; 0 for * */
  running: number
  /** Devices that their work holds; 0 for * */
  usedGpu: number
}

export interface UserBoundList {
  items: UserBound[]
  next: string
}

export interface UserBoundSpec {
  /** Devices; absent: any */
  gpu?: number
  /** Workloads that have not started; one more is refused. 0: any */
  maxQueued?: number
  /** Workloads; 0: any */
  maxRunning?: number
  /** What it is for */
  note?: string
}

export interface UserChange {
  disabled?: boolean
  groups?: string[]
  note?: string
  /** Account of the server's machine that their tasks run as; '': none. Only the server's owner says so */
  osUser?: string
  /** true: the next whom the identity provider calls by this name is let in as this user, and no account that was before; false: nobody is. Sessions end */
  sso?: boolean
}

export interface UserLimit {
  /** Devices; absent: any */
  gpu?: number
  /** Workloads that have not started; one more is refused. 0: any */
  maxQueued?: number
  /** Workloads; 0: any */
  maxRunning?: number
}

export interface UserList {
  items: User[]
}

export interface Version {
  /** Major version of the API */
  api: string
  commit?: string
  go: string
  version: string
}

export interface Vote {
  at: Time
  by: string
  /** Who has had them decide */
  for?: string
  message?: string
}

export interface Wait {
  /** Who can end it: wait (time), change (whoever submitted it), ask (an administrator) */
  act?: string
  id: string
  message?: string
  /** No wait ends it: what it asks for, or what is allowed, has to change */
  never?: boolean
  /** In its queue, from 1 */
  position?: number
  /** The likely start, as its why has it; absent: nobody can tell */
  start?: Time
  /** If all goes quickly */
  startEarly?: Time
  /** If all goes slowly; without start: by then at the latest */
  startLate?: Time
  /** The most severe blocker */
  token?: string
}

export interface WaitedFor {
  /** Of all workloads together */
  hours: number
  /** Token of the first of what kept them, as why says it; NotAsked: that was not looked at yet */
  reason: string
}

export interface WeeklyReport {
  /** Who has it mailed: it shows what they may see when it goes out */
  by: string
  created: Time
  email: string
  id: string
  lastAt?: Time
  /** The latest that a mail server has taken */
  lastWeek?: string
  /** When the next one goes out */
  next: Time
  /** Why the latest try failed */
  problem?: string
  project?: string
  timeZone?: string
  user?: string
}

export interface WeeklyReportList {
  items: WeeklyReport[]
}

export interface Why {
  /** The first few that go before it */
  ahead: RelatedWorkload[]
  /** What was looked at and is fine */
  checked: Checked[]
  /** Of one that has one and has not ended */
  deadline?: DeadlineState
  /** When it is expected to start */
  estimate?: Estimate
  evaluatedAt: Time
  /** Those whose ends are expected to make its room */
  frees: RelatedWorkload[]
  /** Those who hold what the gravest reason is short of; of a limit those that count against it */
  holders: RelatedWorkload[]
  id: string
  message?: string
  name: string
  phase: string
  /** Where its tasks would be then, one for each; absent: nobody can tell */
  places?: Placement[]
  /** In its queue, from 1 */
  position?: number
  project: string
  reason?: string
  /** Every blocker, most severe first */
  reasons: PendingReason[]
  /** Of its tasks that run while others of it wait; absent: it waits as a whole */
  running?: number
  since: Time
  /** Changes with which it would start now; each has been tried */
  suggestions: Suggestion[]
  /** How many wait in its queue */
  waiting?: number
  /** Something keeps it, or some of its tasks, from running */
  waits: boolean
}

export interface Word {
  code?: number
  color?: string
  end: boolean
  /** States that it is said of, one line each */
  how: string[]
  /** Phases in which it may be said */
  phases: string[]
  /** Whether a job of which it is said holds resources, where the platform's documents say so */
  resources?: string
  status: string
}

export interface Workload {
  /** What can be asked of it now: stop, restart, delete, preempt, move, scale, hold, release, approve, reject, change (priority and limits), update (of a service) and revise (another document, once it has ended) */
  allowedActions: string[]
  /** Number of the present attempt, from 0 */
  attempt: number
  /** Every attempt, oldest first */
  attempts: Attempt[]
  /** What its project and all above it demanded when it was submitted, which it keeps */
  bounds?: Bounds
  /** Tasks of an array that were stopped by themselves */
  canceled?: number[]
  /** From where it can go on, as its tasks say */
  checkpoint?: Checkpoint
  /** Admission checks of the present attempt */
  checks?: Check[]
  conditions: Condition[]
  createdAt: Time
  endedAt?: Time
  /** Device-seconds charged so far */
  gpuSeconds: number
  /** GPUs that it asks for, over all tasks; parts count as such, memory as the part of a GPU that it came to where it last had a place */
  gpus: number
  /** GPUs that its tasks hold at present, also while they fail and are started again */
  gpusHeld: number
  /** Indexes of the tasks of an array that somebody keeps from starting, like 0-3,7 */
  heldTasks?: string
  /** Who keeps it from being queued */
  hold?: Hold
  /** Identity for ever; sorts by creation */
  id: string
  /** Image that was built for it */
  image?: string
  kind: "training" | "distributed" | "workspace" | "inference" | "external"
  /** Why, as a sentence */
  message?: string
  /** What its tasks and its user keep with it */
  metadata?: Record<string, unknown>
  /** Name, unique in its project */
  name: string
  /** In the order of submission, from 1; what Slurm calls a job's id */
  number: number
  /** Why it waits, while it waits */
  pending?: Pending
  /** Where it is in its life; GET /v1/lifecycle lists all phases */
  phase: string
  /** What would become of it; of a dry run only */
  plan?: Plan
  preemptible: boolean
  priority: number
  /** How far it has come, as its tasks say */
  progress?: Progress
  project: string
  /** What was made of its results */
  published?: Published
  /** Why, as a token */
  reason?: string
  /** Of an inference workload */
  replicas?: Replicas
  /** While Terminating: somebody asked that it runs again once it has ended */
  restarts?: boolean
  /** The commit that changed it last; resumes a watch */
  revision: number
  /** Since when it is in this phase */
  since: Time
  /** The document, after defaults */
  spec?: unknown
  /** First time Running */
  startedAt?: Time
  /** The same in the words of other platforms */
  statuses: Record<string, Status>
  /** While Terminating: the phase that follows */
  target?: string
  /** Tasks of the present attempt by state */
  tasks: TaskCounts
  /** Its history; in watch events only what is new */
  transitions: Transition[]
  /** Who submitted it */
  user: string
  /** Grows with every change; the ETag */
  version: number
  /** In answers to submissions: what is allowed and perhaps not meant */
  warnings?: string[]
}

export interface WorkloadError {
  attempt: number
  id: string
  /** As of first-error */
  kind: string
  /** The one line that says most */
  title: string
}

export interface WorkloadErrorList {
  items: WorkloadError[]
  /** Workloads whose output is still searched: ask again */
  searched: number
}

export interface WorkloadList {
  items: Workload[]
  /** cursor of the next page; empty on the last */
  next: string
}
