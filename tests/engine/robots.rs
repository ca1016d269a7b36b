//! robots.txt by RFC 9309 in the engine.

use super::*;
