import "./calls.js";
import "./readme.js";
import "./retries.js";
import "./secrets.js";
import "./streams.js";
