//! Objects by name, in a store that machines share: [`store`].

use crawler_core::disk;
use crawler_web::web;

pub mod store;
