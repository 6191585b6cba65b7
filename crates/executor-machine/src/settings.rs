//! The settings of GitLab Runner: `[runners.machine]` and `[runners.autoscaler]`.

mod machines;

use crate::options::PoolOptions;
use crate::period::{Period, PeriodError};
use crate::schedule::{Entry, Idle, Rule, Schedule};
use executor_core::parse_duration;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The `plugin` whose machines are the hosts of a list.
const STATIC: &str = "static";

/// The plugin for engines of this host.
pub(crate) const LOCAL_ENGINE: &str = "local-engine";

/// `[runners.machine]`: the words of docker-machine.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields, default)]
pub struct MachineSettings {
    /// How many idle machines are kept. With 0, machines come on demand.
    pub idle_count: u32,
    /// The idle machines as a factor of those in use, up to `IdleCount`.
    pub idle_scale_factor: f64,
    /// The least number of idle machines with a factor. Default: 1.
    pub idle_count_min: Option<u32>,
    /// How many seconds a machine that is not needed is kept.
    pub idle_time: u64,
    /// How many jobs a machine has in its life; 0 for any number.
    pub max_builds: u32,
    /// How many machines are created at once; 0 for any number.
    pub max_growth_rate: u32,
    /// After how many attempts GitLab Runner forgets a machine. We never do.
    pub max_removal_attempts: Option<u32>,
    /// The name of a machine, with `%s` for the part that differs.
    pub machine_name: String,
    /// The driver of docker-machine.
    pub machine_driver: String,
    /// Options for it.
    pub machine_options: Vec<String>,
    /// Options for it, with `%s` for the machine's name.
    pub machine_options_with_name: Vec<String>,
    /// What holds at some times.
    #[serde(rename = "autoscaling")]
    pub autoscaling: Vec<MachinePeriod>,
    /// Not supported; `autoscaling` replaced them.
    pub off_peak_periods: Vec<String>,
    /// As above.
    pub off_peak_timezone: String,
    /// As above.
    pub off_peak_idle_count: u32,
    /// As above.
    pub off_peak_idle_time: u64,
}

/// `[[runners.machine.autoscaling]]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields, default)]
pub struct MachinePeriod {
    /// When it holds.
    pub periods: Vec<String>,
    /// The time zone. Default: that of this host.
    pub timezone: String,
    /// As in `[runners.machine]`.
    pub idle_count: u32,
    /// As in `[runners.machine]`.
    pub idle_scale_factor: f64,
    /// As in `[runners.machine]`.
    pub idle_count_min: Option<u32>,
    /// As in `[runners.machine]`.
    pub idle_time: u64,
}

/// `[runners.autoscaler]`: the words of the autoscaler.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoscalerSettings {
    /// Where machines come from: `static` for the hosts of `plugin_config`, `local-engine` for engines of this host, or the
    /// program of a plugin.
    pub plugin: String,
    /// The settings of the plugin.
    pub plugin_config: Map<String, Value>,
    /// How machines are reached over SSH.
    pub connector_config: ConnectorSettings,
    /// How many jobs a machine has at once. Default: 1.
    pub capacity_per_instance: Option<u32>,
    /// How many jobs it has in its life; 0 for any number.
    pub max_use_count: u32,
    /// How many machines there are at most; 0 for any number.
    pub max_instances: u32,
    /// How long a job waits for a machine. Default: 15 minutes.
    #[serde(deserialize_with = "duration")]
    pub instance_acquire_timeout: Option<Duration>,
    /// How often idle machines are checked. Default: 1 minute.
    #[serde(deserialize_with = "duration")]
    pub update_interval: Option<Duration>,
    /// The first pause before a removal is tried again. Default: 1 minute.
    #[serde(deserialize_with = "duration")]
    pub deletion_retry_interval: Option<Duration>,
    /// After how many failed checks a machine is removed. Default: 3.
    pub failure_threshold: Option<u32>,
    /// Whether the machines are removed when the runner ends.
    pub delete_instances_on_shutdown: bool,
    /// How many machines are kept, and when.
    pub policy: Vec<AutoscalerPolicy>,
    /// A command that OpenSSH runs on a new machine, again and again, until it succeeds. Default: none.
    pub instance_ready_command: String,
    /// Not supported.
    pub vm_isolation: Option<Value>,
    /// Without effect: a change is acted on at once.
    pub update_interval_when_expecting: Option<Value>,
    /// Without effect: removals are repeated until they succeed.
    pub shutdown_deletion_interval: Option<Value>,
    /// As above.
    pub shutdown_deletion_retries: Option<Value>,
    /// How fast machines are created. Default: as fast as they are needed.
    pub scale_throttle: Option<ThrottleSettings>,
    /// Without effect.
    pub reservation_throttling: Option<Value>,
    /// Without effect: there is always a journal.
    pub state_storage: Option<Value>,
    /// Without effect.
    pub log_internal_ip: Option<Value>,
    /// Without effect.
    pub log_external_ip: Option<Value>,
}

/// `[runners.autoscaler.scale_throttle]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThrottleSettings {
    /// How many machines are created each second, on average. -1 is no limit. Default, and 0: 100.
    pub limit: Option<f64>,
    /// How many at once. Default: `max_instances`; without that, `limit`.
    pub burst: u32,
}

/// `[runners.autoscaler.connector_config]`. The keys that are not here have no effect.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ConnectorSettings {
    /// `ssh`, the default, or another protocol, which is not supported.
    pub protocol: String,
    /// Not supported, except for 22.
    pub protocol_port: Option<u16>,
    /// The user, for machines whose plugin names none.
    pub username: Option<String>,
    /// The private key, likewise.
    pub key_path: Option<PathBuf>,
    /// Not supported.
    pub password: String,
}

/// `[[runners.autoscaler.policy]]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AutoscalerPolicy {
    /// When it holds. Default: always.
    pub periods: Vec<String>,
    /// The time zone. Default: that of this host.
    pub timezone: String,
    /// How many slots are kept free.
    pub idle_count: u32,
    /// How long a machine that is not needed is kept.
    #[serde(deserialize_with = "duration")]
    pub idle_time: Option<Duration>,
    /// The free slots as a factor of those in use.
    pub scale_factor: f64,
    /// The greatest number that comes from the factor; 0 for any.
    pub scale_factor_limit: u32,
    /// Whether a job is requested only when a slot is free. Default: when slots are kept free.
    pub preemptive_mode: Option<bool>,
}

/// What is wrong with settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A period cannot be read.
    #[error(transparent)]
    Period(#[from] PeriodError),
    /// A time zone is not known.
    #[error("unknown time zone {0:?}")]
    TimeZone(String),
    /// A factor is negative or no number.
    #[error("{0} must be 0 or more")]
    Factor(&'static str),
    /// A key that is not supported.
    #[error("{key} is not supported: {instead}")]
    Unsupported {
        /// The key.
        key: &'static str,
        /// What to write instead.
        instead: &'static str,
    },
    /// The settings of a plugin are wrong.
    #[error("plugin_config: {0}")]
    Plugin(String),
    /// There is no such program.
    #[error("plugin: there is no program {0}")]
    NoProgram(String),
    /// A key without which there are no machines.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A throttle without a rate.
    #[error("scale_throttle.limit must be a number: -1 is no limit, and 0 is the default, 100")]
    Throttle,
    /// A machine without room for a job.
    #[error("capacity_per_instance must be 1 or more")]
    NoCapacity,
}

/// Settings of a plugin may be secret.
impl fmt::Debug for AutoscalerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoscalerSettings")
            .field("plugin", &self.plugin)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Options of a driver may be secret.
impl fmt::Debug for MachineSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineSettings")
            .field("idle_count", &self.idle_count)
            .field("machine_driver", &self.machine_driver)
            .finish_non_exhaustive()
    }
}

impl MachineSettings {
    /// Returns the options of a pool. `limit` is that of `[[runners]]`.
    ///
    /// # Errors
    ///
    /// When a value is invalid.
    pub fn pool(&self, prefix: &str, limit: u32) -> Result<PoolOptions, SettingsError> {
        if !self.off_peak_periods.is_empty() {
            return Err(SettingsError::Unsupported {
                key: "OffPeakPeriods",
                instead: "write a [[runners.machine.autoscaling]] with these Periods",
            });
        }
        let mut options = PoolOptions::new(prefix);
        options.limits.machines = limit;
        options.limits.growth = self.max_growth_rate;
        options.limits.jobs = self.max_builds;
        let otherwise = MachinePeriod {
            idle_count: self.idle_count,
            idle_scale_factor: self.idle_scale_factor,
            idle_count_min: self.idle_count_min,
            idle_time: self.idle_time,
            ..MachinePeriod::default()
        };
        let entries = self.autoscaling.iter().map(|period| {
            Ok(Entry {
                periods: periods(&period.periods)?,
                zone: zone(&period.timezone)?,
                rule: period.rule()?,
            })
        });
        options.schedule = Schedule {
            otherwise: otherwise.rule()?,
            entries: entries.collect::<Result<_, SettingsError>>()?,
        };
        Ok(options)
    }
}

impl MachinePeriod {
    fn rule(&self) -> Result<Rule, SettingsError> {
        let factor = factor("IdleScaleFactor", self.idle_scale_factor)?;
        let idle = if factor > 0.0 {
            Idle::Between {
                factor,
                min: self.idle_count_min.unwrap_or(1).max(1),
                max: self.idle_count,
            }
        } else {
            Idle::Fixed(self.idle_count)
        };
        Ok(Rule {
            idle,
            idle_time: Duration::from_secs(self.idle_time),
            preemptive: self.idle_count > 0,
        })
    }
}

impl AutoscalerSettings {
    /// Returns the options of a pool.
    ///
    /// # Errors
    ///
    /// When a value is invalid.
    pub fn pool(&self, prefix: &str) -> Result<PoolOptions, SettingsError> {
        let unsupported = [
            (
                self.plugin == LOCAL_ENGINE && !self.instance_ready_command.is_empty(),
                "instance_ready_command with local-engine",
                "an engine of this host is ready when it answers",
            ),
            (
                self.vm_isolation.is_some(),
                "vm_isolation",
                "use `max_use_count = 1` for a machine for each job",
            ),
            (
                !matches!(&*self.connector_config.protocol, "" | "ssh"),
                "connector_config.protocol",
                "machines are reached over ssh, or as engines by the answer of a plugin",
            ),
            (
                !matches!(self.connector_config.protocol_port, None | Some(22)),
                "connector_config.protocol_port",
                "write `port` into the hosts of the list, or into the answer of the plugin",
            ),
            (
                !self.connector_config.password.is_empty(),
                "connector_config.password",
                "use key_path",
            ),
        ];
        if let Some((_, key, instead)) = unsupported.into_iter().find(|(is_set, ..)| *is_set) {
            return Err(SettingsError::Unsupported { key, instead });
        }
        let mut options = PoolOptions::new(prefix);
        let slots = self.capacity_per_instance.unwrap_or(1);
        if slots == 0 {
            return Err(SettingsError::NoCapacity);
        }
        options.limits.slots = slots;
        options.limits.jobs = self.max_use_count;
        options.limits.machines = self.max_instances;
        if self.plugin == STATIC {
            let hosts = u32::try_from(self.hosts()?.len()).unwrap_or(u32::MAX);
            options.limits.machines = match self.max_instances {
                0 => hosts,
                max => max.min(hosts),
            };
        }
        // 0 is the default, as everywhere in these settings.
        let set = |field: &mut Duration, value: Option<Duration>| {
            *field = value.filter(|it| !it.is_zero()).unwrap_or(*field);
        };
        options.removal_retry = Duration::from_mins(1);
        set(&mut options.acquire_timeout, self.instance_acquire_timeout);
        set(&mut options.check_interval, self.update_interval);
        set(&mut options.removal_retry, self.deletion_retry_interval);
        let threshold = self.failure_threshold.filter(|threshold| *threshold > 0);
        options.failure_threshold = threshold.unwrap_or(options.failure_threshold);
        options.throttle = match self.scale_throttle {
            Some(throttle) => throttle.pool(self.max_instances)?,
            None => None,
        };
        options.remove_on_shutdown = self.delete_instances_on_shutdown;
        let entries = self.policy.iter().map(|policy| {
            let always = || vec!["* * * * *".to_owned()];
            let texts = match &*policy.periods {
                [] => &always(),
                periods => periods,
            };
            Ok(Entry {
                periods: periods(texts)?,
                zone: zone(&policy.timezone)?,
                rule: policy.rule()?,
            })
        });
        options.schedule.entries = entries.collect::<Result<_, SettingsError>>()?;
        Ok(options)
    }
}

impl AutoscalerPolicy {
    fn rule(&self) -> Result<Rule, SettingsError> {
        let factor = factor("scale_factor", self.scale_factor)?;
        let count = self.idle_count;
        if self.preemptive_mode == Some(true) && count == 0 {
            return Err(SettingsError::Unsupported {
                key: "preemptive_mode without idle_count",
                instead: "no machine would ever be created; set idle_count to 1 or more",
            });
        }
        let idle = if factor > 0.0 {
            let limit = self.scale_factor_limit;
            Idle::AtLeast {
                factor,
                limit,
                count,
            }
        } else {
            Idle::Fixed(count)
        };
        Ok(Rule {
            idle,
            idle_time: self.idle_time.unwrap_or_default(),
            preemptive: self.preemptive_mode.unwrap_or(count > 0),
        })
    }
}

fn factor(key: &'static str, factor: f64) -> Result<f64, SettingsError> {
    if factor >= 0.0 {
        Ok(factor)
    } else {
        Err(SettingsError::Factor(key))
    }
}

fn periods(texts: &[String]) -> Result<Vec<Period>, SettingsError> {
    let periods = texts.iter().map(|text| text.parse());
    Ok(periods.collect::<Result<_, _>>()?)
}

fn zone(name: &str) -> Result<TimeZone, SettingsError> {
    match name {
        "" | "Local" => Ok(TimeZone::system()),
        name => TimeZone::get(name).map_err(|_| SettingsError::TimeZone(name.to_owned())),
    }
}

/// Reads a duration as Go writes it, `20m0s`, or a number of seconds.
fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value {
        Seconds(u64),
        Text(String),
    }
    let text = match Value::deserialize(input)? {
        Value::Seconds(seconds) => return Ok(Some(Duration::from_secs(seconds))),
        Value::Text(text) => text,
    };
    let is_zero = |text: &str| text.chars().all(|it| "0hms".contains(it)) && text.contains('0');
    if is_zero(&text) {
        return Ok(Some(Duration::ZERO));
    }
    let invalid = || {
        de::Error::custom(format!(
            "invalid duration {text:?}, expected for example 20m0s"
        ))
    };
    parse_duration(&text).map(Some).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn rule_at<'o>(options: &'o PoolOptions, time: &str) -> &'o Rule {
        let time: Timestamp = time.parse().unwrap();
        options.schedule.rule_at(time)
    }

    #[test]
    fn words_of_docker_machine() {
        // R-EXEC-74
        let settings: MachineSettings = toml::from_str(
            r#"
            IdleCount = 5
            IdleTime = 600
            IdleScaleFactor = 1.5
            MaxBuilds = 100
            MaxGrowthRate = 3
            MachineName = "auto-scale-%s"
            MachineDriver = "google"
            MachineOptions = ["google-project=ci"]
            [[autoscaling]]
            Periods = ["* * 9-17 * * mon-fri *"]
            Timezone = "Europe/Berlin"
            IdleCount = 50
            IdleCountMin = 7
            IdleTime = 3600
            [[autoscaling]]
            Periods = ["* * * * * sat,sun *"]
            Timezone = "UTC"
            "#,
        )
        .unwrap();
        let options = settings.pool("runner-abc-", 20).unwrap();
        let limits = options.limits;
        assert_eq!(
            (limits.machines, limits.growth, limits.slots, limits.jobs),
            (20, 3, 1, 100)
        );
        let night = rule_at(&options, "2026-11-27T03:00:00Z");
        assert_eq!([0, 2, 10].map(|it| night.wanted(it)), [1, 3, 5]);
        assert_eq!(
            (night.idle_time, night.preemptive),
            (Duration::from_mins(10), true)
        );
        let day = rule_at(&options, "2026-11-27T08:00:00Z");
        assert_eq!(
            (day.wanted(0), day.idle_time),
            (50, Duration::from_hours(1))
        );
        let weekend = rule_at(&options, "2026-11-28T12:00:00Z");
        assert_eq!((weekend.wanted(9), weekend.preemptive), (0, false));
    }

    #[test]
    fn words_of_the_autoscaler() {
        let settings: AutoscalerSettings = toml::from_str(
            r#"
            plugin = "googlecloud"
            capacity_per_instance = 4
            max_use_count = 10
            max_instances = 8
            instance_acquire_timeout = "20m0s"
            [plugin_config]
            zone = "us-central1-c"
            [[policy]]
            idle_count = 4
            idle_time = "1h30m"
            scale_factor = 0.5
            scale_factor_limit = 20
            [[policy]]
            periods = ["* 0-6 * * *"]
            timezone = "UTC"
            idle_time = "0s"
            "#,
        )
        .unwrap();
        let options = settings.pool("fleet-").unwrap();
        let limits = options.limits;
        assert_eq!((limits.machines, limits.slots, limits.jobs), (8, 4, 10));
        assert_eq!(options.acquire_timeout, Duration::from_mins(20));
        let day = rule_at(&options, "2026-11-27T12:00:00Z");
        assert_eq!([0, 20, 100].map(|it| day.wanted(it)), [4, 10, 20]);
        assert_eq!(
            (day.idle_time, day.preemptive),
            (Duration::from_mins(90), true)
        );
        let night = rule_at(&options, "2026-11-27T03:00:00Z");
        assert_eq!(
            (night.wanted(20), night.idle_time, night.preemptive),
            (0, Duration::ZERO, false)
        );
    }

    #[test]
    fn invalid_values_are_named() {
        let machine = |text: &str| {
            let settings: MachineSettings = toml::from_str(text).unwrap();
            settings.pool("x-", 0).unwrap_err().to_string()
        };
        let error = machine("[[autoscaling]]\nPeriods = [\"* * * *\"]");
        assert!(error.contains("it has 4 fields"), "{error}");
        let error = machine("[[autoscaling]]\nTimezone = \"Mars/Olympus\"");
        assert_eq!(error, "unknown time zone \"Mars/Olympus\"");
        assert_eq!(
            machine("IdleScaleFactor = -1.0"),
            "IdleScaleFactor must be 0 or more"
        );
        assert_eq!(
            machine("IdleScaleFactor = nan"),
            "IdleScaleFactor must be 0 or more"
        );
        assert!(
            machine("OffPeakPeriods = [\"* * * * *\"]").contains("[[runners.machine.autoscaling]]")
        );
        let typo = toml::from_str::<MachineSettings>("IdelCount = 1").unwrap_err();
        assert!(typo.to_string().contains("IdelCount"), "{typo}");
        let none: AutoscalerSettings = toml::from_str("capacity_per_instance = 0").unwrap();
        assert!(none.pool("x-").is_err());
        let never: AutoscalerSettings =
            toml::from_str("[[policy]]\npreemptive_mode = true").unwrap();
        let error = never.pool("x-").unwrap_err().to_string();
        assert!(error.contains("set idle_count to 1 or more"), "{error}");
        let soon = toml::from_str::<AutoscalerSettings>("update_interval = \"soon\"").unwrap_err();
        assert!(
            soon.to_string().contains("expected for example 20m0s"),
            "{soon}"
        );
    }
}
