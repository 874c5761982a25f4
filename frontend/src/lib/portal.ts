/** Where a menu or a hint is put, so that it stands within the page's main part and not beside all of it. */
export const portalHome = () => document.getElementById('main');
